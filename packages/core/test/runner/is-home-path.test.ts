import { expect, it } from "vitest";
import { isHomePath } from "../../src/runner/is-home-path.ts";

it.each(["note", ".codex/auth.json", "a b/ü", "...", "a".repeat(1024)])("takes %j as a path below a home", (path) => {
  expect(isHomePath(path)).toBe(true);
});

it.each(["", ".", "..", "/etc/passwd", "a/../b", "./a", "a//b", "a/", "a\0b", "a\nb", "a\u009bb", "a".repeat(1025)])(
  "refuses %j as a path below a home",
  (path) => {
    expect(isHomePath(path)).toBe(false);
  },
);
