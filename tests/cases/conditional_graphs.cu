// Conditional nodes of graphs: if with else, a loop that is captured, a choice of four in a loop. Then what goes wrong with
// them: a body that a stream does not wait for, a value that nothing sets, a body with a node that it may not have, a handle
// with two nodes. The counts follow from CUDA's rules.
// flags: -g
// run: emulate -- PROGRAM
// prints: if 1 else 1
// prints: loop 12 rounds, 4 outside
// prints: choices 1 1 1 0, 5 rounds
// tells: emulate: no fault
// run: emulate --orders 1..3 -- PROGRAM
// prints: if 1 else 1
// prints: loop 12 rounds, 4 outside
// prints: choices 1 1 1 0, 5 rounds
// tells: emulate: order 3: no fault
// run: emulate -- PROGRAM race
// exit: 1
// prints: done
// tells: race between commands: kernel `copy` reads bytes that kernel `up` writes, and nothing orders the two
// tells: first: kernel `up` in a graph in stream 1, called at .*conditional_graphs.cu:\d+, in race
// tells: a node of the graph, added at .*conditional_graphs.cu:\d+, in kernel
// tells: then: kernel `copy` in stream 2
// tells: emulate: 1 fault
// run: emulate -- PROGRAM unset
// exit: 1
// prints: done
// tells: undefined condition: a conditional node looks at handle 0x1, which has no value in this launch
// tells: the node was added at .*conditional_graphs.cu:\d+, in branch
// tells: emulate: 1 fault
// run: emulate -- PROGRAM early
// exit: 1
// prints: done
// tells: race between commands: a conditional node reads the value that kernel `set` writes, and nothing orders the two
// tells: emulate: 1 fault
// run: emulate -- PROGRAM wrong
// prints: host function in a body: cudaErrorInvalidValue
// prints: second node of a handle: cudaErrorInvalidValue
// prints: handle of another graph: cudaErrorInvalidValue
// prints: clone: cudaErrorNotSupported
// tells: the body of a conditional node has a host function
// tells: has a node already
// tells: is of another graph
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static void check(cudaError_t error, int line) {
    if (error != cudaSuccess) {
        printf("line %d: %s\n", line, cudaGetErrorName(error));
        exit(2);
    }
}
#define CHECK(call) check(call, __LINE__)

__global__ void set(cudaGraphConditionalHandle handle, const unsigned *value) {
    cudaGraphSetConditional(handle, *value);
}

__global__ void up(unsigned *word) {
    ++*word;
}

// Counts down, and goes on with a loop until nothing is left.
__global__ void down(cudaGraphConditionalHandle handle, unsigned *word) {
    cudaGraphSetConditional(handle, --*word);
}

// The number of the round chooses a body, and says whether there is another round.
__global__ void choose(cudaGraphConditionalHandle choice, cudaGraphConditionalHandle again, unsigned *round, unsigned rounds) {
    cudaGraphSetConditional(choice, *round);
    cudaGraphSetConditional(again, ++*round < rounds);
}

__global__ void copy(const unsigned *from, unsigned *to) {
    *to = *from;
}

static unsigned *words(int count) {
    unsigned *data;
    CHECK(cudaMalloc(&data, 4 * count));
    CHECK(cudaMemset(data, 0, 4 * count));
    return data;
}

template <typename... Given>
static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t *behind, void (*function)(Given...), Given... given) {
    void *arguments[] = {&given...};
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)function;
    params.kernel.gridDim = params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, behind, nullptr, behind ? 1 : 0, &params));
    return node;
}

static cudaGraphConditionalHandle handle(cudaGraph_t graph, int value) {
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value < 0 ? 0 : value, value < 0 ? 0 : cudaGraphCondAssignDefault));
    return handle;
}

static cudaError_t branch(cudaGraph_t graph, cudaGraphNode_t *behind, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                          unsigned bodies, cudaGraph_t *graphs, cudaGraphNode_t *node) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = bodies;
    cudaError_t added = cudaGraphAddNode(node, graph, behind, nullptr, behind ? 1 : 0, &params);
    if (added == cudaSuccess)
        memcpy(graphs, params.conditional.phGraph_out, bodies * sizeof *graphs);
    return added;
}

static cudaGraph_t graph() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    return graph;
}

static cudaGraphExec_t executable(cudaGraph_t graph) {
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}

static void if_else() {
    unsigned *counts = words(2), *value = words(1), one = 1, found[2];
    cudaGraph_t whole = graph(), bodies[2];
    cudaGraphNode_t node;
    cudaGraphConditionalHandle of = handle(whole, -1);
    cudaGraphNode_t first = kernel<cudaGraphConditionalHandle, const unsigned *>(whole, nullptr, set, of, value);
    CHECK(branch(whole, &first, of, cudaGraphCondTypeIf, 2, bodies, &node));
    kernel(bodies[0], nullptr, up, counts);
    kernel(bodies[1], nullptr, up, counts + 1);
    cudaGraphExec_t run = executable(whole);
    CHECK(cudaGraphLaunch(run, 0));
    CHECK(cudaMemcpy(value, &one, 4, cudaMemcpyDefault));
    CHECK(cudaGraphLaunch(run, 0));
    CHECK(cudaMemcpy(found, counts, 8, cudaMemcpyDefault));
    printf("if %u else %u\n", found[0], found[1]);
}

// A loop in a loop: what is captured in the inner body is one of its rounds.
static void loops() {
    unsigned *counts = words(2), *left = words(2), four = 4, found[2];
    CHECK(cudaMemcpy(left, &four, 4, cudaMemcpyDefault));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t whole = graph(), outer, inner, same;
    cudaGraphNode_t node, loop;
    cudaGraphConditionalHandle of_outer = handle(whole, 1), of_inner = handle(whole, 1);
    CHECK(branch(whole, nullptr, of_outer, cudaGraphCondTypeWhile, 1, &outer, &node));
    cudaMemsetParams fill = {};
    fill.dst = left + 1;
    fill.value = 3;
    fill.elementSize = 4;
    fill.width = fill.height = 1;
    cudaGraphNode_t three;
    CHECK(cudaGraphAddMemsetNode(&three, outer, nullptr, 0, &fill));
    cudaGraphNode_t again = kernel<cudaGraphConditionalHandle, const unsigned *>(outer, &three, set, of_inner, left + 1);
    CHECK(branch(outer, &again, of_inner, cudaGraphCondTypeWhile, 1, &inner, &loop));
    CHECK(cudaStreamBeginCaptureToGraph(stream, inner, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    up<<<1, 1, 0, stream>>>(counts);
    down<<<1, 1, 0, stream>>>(of_inner, left + 1);
    CHECK(cudaStreamEndCapture(stream, &same));
    cudaGraphNode_t count = kernel(outer, &loop, up, counts + 1);
    kernel(outer, &count, down, of_outer, left);
    CHECK(cudaGraphLaunch(executable(whole), stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(found, counts, 8, cudaMemcpyDefault));
    printf("loop %u rounds, %u outside\n", found[0], found[1]);
}

static void choices() {
    unsigned *counts = words(4), *round = words(1), found[5];
    cudaGraph_t whole = graph(), body, bodies[4];
    cudaGraphNode_t node;
    cudaGraphConditionalHandle again = handle(whole, 1), choice = handle(whole, 0);
    CHECK(branch(whole, nullptr, again, cudaGraphCondTypeWhile, 1, &body, &node));
    cudaGraphNode_t first = kernel<cudaGraphConditionalHandle, cudaGraphConditionalHandle, unsigned *, unsigned>(body, nullptr, choose, choice, again, round, 5);
    // The rounds 3 and 4 have no body.
    CHECK(branch(body, &first, choice, cudaGraphCondTypeSwitch, 3, bodies, &node));
    for (int index = 0; index < 3; ++index)
        kernel(bodies[index], nullptr, up, counts + index);
    CHECK(cudaGraphLaunch(executable(whole), 0));
    CHECK(cudaMemcpy(found, counts, 16, cudaMemcpyDefault));
    CHECK(cudaMemcpy(found + 4, round, 4, cudaMemcpyDefault));
    printf("choices %u %u %u %u, %u rounds\n", found[0], found[1], found[2], found[3], found[4]);
}

// Another stream reads what a loop counts, and does not wait for it.
static void race() {
    unsigned *count = words(1), *left = words(1), *out = words(1), three = 3;
    CHECK(cudaMemcpy(left, &three, 4, cudaMemcpyDefault));
    cudaStream_t one, other;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&other));
    cudaGraph_t whole = graph(), body;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle of = handle(whole, 1);
    CHECK(branch(whole, nullptr, of, cudaGraphCondTypeWhile, 1, &body, &node));
    cudaGraphNode_t first = kernel(body, nullptr, up, count);
    kernel(body, &first, down, of, left);
    CHECK(cudaGraphLaunch(executable(whole), one));
    copy<<<1, 1, 0, other>>>(count, out);
    CHECK(cudaDeviceSynchronize());
}

// Nothing gives the node its value, or a kernel that it does not depend on.
static void unset(bool is_early) {
    cudaGraph_t whole = graph(), body;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle of = handle(whole, is_early ? 0 : -1);
    if (is_early)
        kernel<cudaGraphConditionalHandle, const unsigned *>(whole, nullptr, set, of, words(1));
    CHECK(branch(whole, nullptr, of, cudaGraphCondTypeIf, 1, &body, &node));
    cudaGraphExec_t run = executable(whole);
    for (int count = 0; count < 2; ++count)
        CHECK(cudaGraphLaunch(run, 0));
    CHECK(cudaDeviceSynchronize());
}

static void wrong() {
    cudaGraph_t whole = graph(), other = graph(), body, copy;
    cudaGraphNode_t node, call;
    cudaGraphExec_t run;
    cudaGraphConditionalHandle of = handle(whole, 1);
    CHECK(branch(whole, nullptr, of, cudaGraphCondTypeIf, 1, &body, &node));
    cudaHostNodeParams function = {[](void *) {}, nullptr};
    CHECK(cudaGraphAddHostNode(&call, body, nullptr, 0, &function));
    printf("host function in a body: %s\n", cudaGetErrorName(cudaGraphInstantiate(&run, whole, 0)));
    printf("second node of a handle: %s\n", cudaGetErrorName(branch(whole, nullptr, of, cudaGraphCondTypeIf, 1, &body, &node)));
    // The second of its graph: on a GPU handles are small numbers, and the first might be one of this graph too.
    handle(other, 1);
    cudaGraphConditionalHandle foreign = handle(other, 1);
    printf("handle of another graph: %s\n", cudaGetErrorName(branch(whole, nullptr, foreign, cudaGraphCondTypeIf, 1, &body, &node)));
    printf("clone: %s\n", cudaGetErrorName(cudaGraphClone(&copy, whole)));
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!*what) {
        if_else();
        loops();
        choices();
        return 0;
    }
    if (!strcmp(what, "wrong")) {
        wrong();
        return 0;
    }
    if (!strcmp(what, "race"))
        race();
    else
        unset(!strcmp(what, "early"));
    printf("done\n");
}
