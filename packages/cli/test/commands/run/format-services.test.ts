import { expect, it } from "vitest";
import { formatServices } from "../../../src/commands/run/format-services.ts";

it("budgie ps names the services beside a turn, with their memory", () => {
  const services = [
    { name: "db", cpuMs: 1, memoryBytes: 120 * 1024 ** 2 },
    { name: "cache", cpuMs: undefined, memoryBytes: undefined },
  ];

  expect(formatServices([{ runId: "9a60c3de-1" }, { runId: "1b2c3d4e-2", services }])).toBe(
    "Beside 1b2c3d4e: db (120 MB), cache (-).\n",
  );
});
