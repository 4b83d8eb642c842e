// The profiler that the thesis on WasmProf made with Wasabi (its Appendix C), as an analysis of Wasabi: arcs of calls with their numbers and
// times, in JavaScript. Written behind the script that Wasabi makes for a program, for its hooks call, begin and return.

const UNKNOWN = 1; // who is called from outside; Wasabi's functions begin at 2, as there

class Arc {
    constructor() {
        this.count = 0;
        this.time = 0;
    }
}

class Call {
    constructor(callee, start) {
        this.callee = callee;
        this.start = start;
    }
}

const arcs = {}, stack = [new Call(0, 0)];

function returned() {
    const { callee, start } = stack.pop(), caller = stack[stack.length - 1].callee;
    const arc = (arcs[caller] ??= {})[callee] ??= new Arc();
    arc.count += 1;
    arc.time += performance.now() - start;
}

Wasabi.analysis = {
    call_pre(location, callee) {
        stack.push(new Call(callee + 2, performance.now()));
    },
    call_post() {
        returned();
    },
    begin(location, type) {
        if (type === 'function' && stack.length === 1)
            stack.push(new Call(UNKNOWN, performance.now()));
    },
    return_() {
        if (stack.length === 2)
            returned();
    },
};
globalThis.WasabiArcs = arcs;
