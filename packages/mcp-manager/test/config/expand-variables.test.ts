import { describe, expect, it } from "vitest";
import { expandVariables } from "../../src/config/expand-variables.ts";
import { toAddress, toProcess } from "../helpers/servers.ts";

const variables = { names: ["TOKEN", "UNSET"], env: { TOKEN: "t-1", SECRET: "s-1" } };

describe("variables of a server", () => {
  it("are replaced in its command and its variables, and nowhere else", () => {
    const server = toProcess(
      "a",
      {},
      { command: "$TOKEN/run", args: ["$TOKEN"], env: { A: "a${TOKEN}b", B: "${env:TOKEN}$" } },
    );

    expect(expandVariables(server, variables)).toMatchObject({
      command: "t-1/run",
      args: ["$TOKEN"],
      env: { A: "at-1b", B: "t-1$" },
    });
  });

  it("are replaced in its headers, and not in its address", () => {
    const server = toAddress("a", "https://x.example/$TOKEN", { headers: { Authorization: "Bearer $TOKEN" } });

    expect(expandVariables(server, variables)).toMatchObject({
      url: "https://x.example/$TOKEN",
      headers: { Authorization: "Bearer t-1" },
    });
  });

  it.each(["$SECRET", "${SECRET}", "${env:SECRET}", "$TOKEN$SECRET"])(
    "are refused where they are not listed: %s",
    (value) => {
      const server = toProcess("a", {}, { env: { A: value } });

      expect(() => expandVariables(server, variables)).toThrow(
        'The MCP server "a" asks for the variable SECRET, which it may not have. List it in the server\'s "env" to allow that.',
      );
    },
  );

  it("are an error if they are not set", () => {
    const server = toProcess("a", {}, { env: { A: "$UNSET" } });

    expect(() => expandVariables(server, variables)).toThrow('"a" needs the variable UNSET, which is not set.');
  });
});
