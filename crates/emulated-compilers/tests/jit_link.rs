//! Programs that link with nvJitLink, on a small one.
#![cfg(target_os = "linux")]

mod common;

use common::Folder;

/// It tells what it is called with. With `-ptx` it has PTX alone, else machine code alone.
const LIBRARY: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #define PTX ".version 8.0\n.target sm_90\n// linked\n"
    typedef struct { int ptx; } L;
    int nvJitLinkCreate(L** l, unsigned n, char** options) {
        *l = calloc(1, sizeof(L));
        printf("create");
        for (unsigned i = 0; i < n; i++) {
            printf(" %s", options[i]);
            if (!strcmp(options[i], "-ptx")) (*l)->ptx = 1;
        }
        puts("");
        return n ? 0 : 1;
    }
    int nvJitLinkDestroy(L** l) { free(*l); *l = 0; puts("destroy"); return 0; }
    int nvJitLinkAddData(L* l, int kind, char* data, size_t n, char* name) {
        int refused = l->ptx && kind != 3;
        printf("data %d %zu %s%s\n", kind, n, name, refused ? " refused" : "");
        return refused ? 12 : 0;
    }
    int nvJitLinkAddFile(L* l, int kind, char* path) { printf("file %d %s\n", kind, path); return 0; }
    int nvJitLinkComplete(L* l) { return 0; }
    int nvJitLinkGetLinkedCubinSize(L* l, size_t* n) { *n = 5; return l->ptx ? 3 : 0; }
    int nvJitLinkGetLinkedCubin(L* l, char* to) { memcpy(to, "\x7f""ELF", 5); return l->ptx ? 3 : 0; }
    int nvJitLinkGetLinkedPtxSize(L* l, size_t* n) { *n = sizeof PTX; return l->ptx ? 0 : 3; }
    int nvJitLinkGetLinkedPtx(L* l, char* to) { memcpy(to, PTX, sizeof PTX); return l->ptx ? 0 : 3; }
    "#;

/// Links the files that are named, each with its kind before it, with the options before those.
const PROGRAM: &str = r#"
    #include <dlfcn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    static void* library;
    static void* get(char* name) {
        char whole[99];
        snprintf(whole, 99, "nvJitLink%s", name);
        void* found = dlsym(library, whole);
        if (!found) { printf("no %s\n", whole); exit(0); }
        return found;
    }
    int main(int count, char** words) {
        library = dlopen(words[1], RTLD_NOW);
        char** options = words + 2; unsigned n = 0;
        while (2 + n < count && options[n][0] == '-') n++;
        void* link = 0;
        if (((int (*)(void**, unsigned, char**))get("Create"))(&link, n, options)) { puts("refused"); return 0; }
        for (int i = 2 + n; i + 1 < count; i += 2) {
            char data[9999] = ""; int kind = atoi(words[i]);
            FILE* file = fopen(words[i + 1], "r");
            size_t bytes = fread(data, 1, 9999, file);
            if (kind == 2) ((int (*)(void*, int, char*))get("AddFile"))(link, kind, words[i + 1]);
            else ((int (*)(void*, int, char*, size_t, char*))get("AddData"))(link, kind, data, bytes, words[i + 1]);
        }
        ((int (*)(void*))get("Complete"))(link);
        size_t size = 0; char text[9999] = "";
        int codes[] = {((int (*)(void*, size_t*))get("GetLinkedCubinSize"))(link, &size), ((int (*)(void*, char*))get("GetLinkedCubin"))(link, text)};
        printf("%d %d, %zu bytes: %s\n", codes[0], codes[1], size, text);
        ((int (*)(void**))get("Destroy"))(&link);
    }"#;

struct Linked {
    folder: Folder,
    program: std::path::PathBuf,
}

impl Linked {
    fn new(library: &str) -> Linked {
        let folder = Folder::new();
        folder.library("libnvJitLink.so.13", library);
        let write = |name: &str, content: &[u8]| {
            std::fs::write(folder.path(name), content).unwrap();
        };
        write("a.ptx", b".version 8.0\n.target sm_90\n// a\n");
        write("a.cubin", b".version 8.0\n.target sm_90\n// of NVRTC\n\0");
        write("machine.cubin", b"\x7fELF .version .target");
        write("runtime.a", b"!");
        write("a.ltoir", b"\xed\x43\x4e\x7f");
        let program = folder.compile("program", PROGRAM, &[]);
        Linked { folder, program }
    }

    fn says(&self, words: &[&str]) -> String {
        let words = [&["./libnvJitLink.so.13"], words].concat();
        self.folder.run(&self.program, &words)
    }
}

const LINKED: &str = "0 0, 38 bytes: .version 8.0\n.target sm_90\n// linked\n\ndestroy\n";

#[test]
fn what_is_optimised_is_linked_to_ptx_by_a_second_linker() {
    let linked = Linked::new(LIBRARY);
    assert_eq!(
        linked.says(&["-arch=sm_90", "-lto", "3", "a.ltoir", "6", "runtime.a"]),
        format!(
            "create -arch=sm_90 -lto\ndata 3 4 a.ltoir\ndata 6 1 runtime.a\n\
             create -arch=sm_90 -lto -ptx\ndata 3 4 a.ltoir\ndata 6 1 runtime.a refused\ndestroy\n{LINKED}"
        )
    );
    // A program that has asked for PTX knows what it gets.
    assert_eq!(
        linked.says(&["-lto", "-ptx", "3", "a.ltoir"]),
        "create -lto -ptx\ndata 3 4 a.ltoir\n3 3, 5 bytes: \x7fELF\ndestroy\n"
    );
    // A part of the program would be missing.
    assert_eq!(
        linked.says(&["-lto", "3", "a.ltoir", "1", "machine.cubin"]),
        "create -lto\ndata 3 4 a.ltoir\ndata 1 21 machine.cubin\n0 0, 5 bytes: \x7fELF\ndestroy\n"
    );
}

#[test]
fn without_optimising_the_text_comes_out_that_was_put_in() {
    let linked = Linked::new(LIBRARY);
    assert_eq!(
        linked.says(&["-arch=sm_90", "2", "a.ptx"]),
        "create -arch=sm_90\nfile 2 a.ptx\n0 0, 33 bytes: .version 8.0\n.target sm_90\n// a\n\ndestroy\n"
    );
    // The driver links them.
    let both = linked.says(&["-arch=sm_90", "2", "a.ptx", "1", "a.cubin"]);
    let texts = both.split("// emulate: the next text of the module\n");
    assert!(texts.eq([
        "create -arch=sm_90\nfile 2 a.ptx\ndata 2 40 a.cubin\n0 0, 113 bytes: .version 8.0\n.target sm_90\n// a\n\n",
        ".version 8.0\n.target sm_90\n// of NVRTC\n\ndestroy\n",
    ]), "{both}");
    // The machine code of NVRTC's stand-in: the real linker would refuse it as such.
    assert_eq!(
        linked.says(&["-arch=sm_90", "1", "a.cubin"]),
        "create -arch=sm_90\ndata 2 40 a.cubin\n\
         0 0, 40 bytes: .version 8.0\n.target sm_90\n// of NVRTC\n\ndestroy\n"
    );
    assert_eq!(
        linked.says(&["-arch=sm_90", "1", "machine.cubin"]),
        "create -arch=sm_90\ndata 1 21 machine.cubin\n0 0, 5 bytes: \x7fELF\ndestroy\n"
    );
    assert_eq!(linked.says(&[]), "create\nrefused\n");
}

/// A program that was compiled with the library's header asks for functions of its version.
#[test]
fn functions_with_a_version_are_known() {
    let mut library = LIBRARY.replace("int nvJitLink", "int __nvJitLink");
    let functions = [
        "Create",
        "Destroy",
        "AddData",
        "AddFile",
        "Complete",
        "GetLinkedCubinSize",
        "GetLinkedCubin",
        "GetLinkedPtxSize",
        "GetLinkedPtx",
    ];
    for name in functions {
        let from = format!("__nvJitLink{name}(");
        library = library.replace(&from, &format!("__nvJitLink{name}_13_5("));
    }
    let linked = Linked::new(&library);
    let program = PROGRAM.replace("nvJitLink%s", "__nvJitLink%s_13_5");
    let program = linked.folder.compile("versioned", &program, &[]);
    let words = ["./libnvJitLink.so.13", "-lto", "3", "a.ltoir"];
    let said = linked.folder.run(&program, &words);
    assert!(said.ends_with(LINKED), "{said}");
}
