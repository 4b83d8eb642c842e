// Uses the API of the package esbuild-wasm that is in the directory of the first argument. It ends its service by SIGTERM.
const esbuild = require(process.argv[2]);

esbuild.transform('let answer: number = 6 * 7; console.log(answer)', { loader: 'ts', minify: true }).then(({ code }) => {
    process.stdout.write(code);
    return esbuild.stop();
});
