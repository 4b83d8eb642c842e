/* A library with a small function for bench/maps: how far accesses of memory are apart. */
static int last;

__attribute__((export_name("distance"))) int distance(int address) {
    int bytes = address - last;
    last = address;
    return bytes < 0 ? -bytes : bytes;
}
