"""The imports among the files of a crate, and the circles among them.

A file imports another if it names something of it: in a `use`, or by a path. `mod` declarations and `pub use` do not count:
the file of a module shows what its children have. A path is followed through such a `pub use` to the file that has the name.
"""
import re

USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
DEFINED = r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+{}\b"


def paths(tree):
    """The paths of a `use`, each with the name that it gives: `a::{b, c as d}` is (a::b, b) and (a::c, d)."""
    tree = tree.strip()
    if not tree.endswith("}"):
        path, _, name = re.sub(r"\s+", " ", tree).partition(" as ")
        yield path.replace(" ", ""), name or path.split("::")[-1]
        return
    before, _, inner = tree[:-1].partition("{")
    part, depth = "", 0
    for char in inner + ",":
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            if part.strip():
                yield from paths(before.strip() + part.strip())
            part = ""
        else:
            part += char


class Crate:
    """The files of a crate, by the path of their module: `("a", "b")` is the module `crate::a::b`."""

    def __init__(self, root, texts):
        self.texts, self.files = {}, {}
        for path, text in texts.items():
            module = path[len(root) : -3].split("/")
            if module[-1] in ("lib", "main", "mod"):
                module.pop()
            self.files[tuple(module)] = path
            # A visibility names a module, and imports nothing.
            self.texts[tuple(module)] = re.sub(r"pub\((in )?[^)]*\)", "pub", text)
        # The names that a module has from elsewhere, and the modules of which it has all names.
        self.names, self.globs = {}, {}
        for module, text in self.texts.items():
            names, globs = self.names.setdefault(module, {}), self.globs.setdefault(module, [])
            for public, tree in USE.findall(text):
                for path, name in paths(tree):
                    target = self.absolute(module, path.removesuffix("::self"))
                    if target is None:
                        continue
                    if name == "*":
                        globs += [target[:-1]] if public else []
                    else:
                        names[target[-1] if name == "self" and target else name] = target

    def absolute(self, module, path):
        """The path from the crate's root, or None if it is another crate's."""
        first, *rest = parts = path.split("::")
        if first == "crate":
            return tuple(rest)
        if first in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                module = module[:-1] if parts.pop(0) == "super" else module
            return module + tuple(parts)
        return module + tuple(parts) if module + (first,) in self.files else None

    def file_of(self, path, depth=8):
        """The module whose file has what this path names."""
        for end in range(len(path), -1, -1):
            module, rest = path[:end], path[end:]
            if module not in self.files:
                continue
            if rest and depth:
                target = self.names[module].get(rest[0])
                if target and target + rest[1:] != path:
                    return self.file_of(target + rest[1:], depth - 1)
                for glob in self.globs[module]:
                    found = self.file_of(glob, depth - 1)
                    if found is not None and re.search(DEFINED.format(re.escape(rest[0])), self.texts[found]):
                        return found
            return module
        return None

    def imports(self, module):
        """The modules that this one imports."""
        text = self.texts[module]
        used = [path for public, tree in USE.findall(text) if not public for path, _ in paths(tree)]
        body = USE.sub("", text)
        used += re.findall(r"\b(?:crate|super)(?:::\w+)+", body)
        # Children by their bare names.
        used += re.findall(r"(?<![:\w])[a-z_]\w*(?:::\w+)+", body)
        found = set()
        for path in used:
            target = self.absolute(module, path.removesuffix("::self").removesuffix("::*"))
            if target is not None:
                found.add(self.file_of(target))
        return found - {module, None}


def circles(texts):
    """Lists of files that import each other, in a circle or several that share files, from the texts of all files by path."""
    found = []
    for root in sorted({path[: path.index("/src/") + 5] for path in texts if "/src/" in path}):
        crate = Crate(root, {path: text for path, text in texts.items() if path.startswith(root)})
        imports = {module: crate.imports(module) for module in crate.files}

        def reached(start):
            seen, left = set(), [start]
            while left:
                for module in imports[left.pop()] - seen:
                    seen.add(module)
                    left.append(module)
            return seen

        reach = {module: reached(module) for module in imports}
        left = sorted(imports)
        while left:
            first = left[0]
            circle = [other for other in left if other in reach[first] and first in reach[other]]
            if len(circle) > 1:
                found.append(sorted(crate.files[module] for module in circle))
            left = [other for other in left if other != first and other not in circle]
    return sorted(found, key=len, reverse=True)
