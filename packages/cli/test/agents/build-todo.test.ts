import { expect, it } from "vitest";
import { formatBuildTodo } from "../../src/agents/build-todo.ts";

const [DEFAULT, OWN] = ["budgie-sandbox:latest", "my-image:1"];

it.each([
  [{ image: DEFAULT, isThere: false }, "budgie build-image"],
  [{ image: DEFAULT, isThere: true, presets: ["codex", "qwen"] }, "budgie build-image --with codex --with qwen"],
  [{ image: OWN, isThere: false }, "budgie build-image --tag my-image:1"],
  [{ image: OWN, isThere: true }, `budgie build-image    # then name ${DEFAULT} in place of ${OWN}`],
])("for %j the command is %s, which replaces no image of the user's own", (todo, command) => {
  expect(formatBuildTodo(todo)).toBe(command);
});
