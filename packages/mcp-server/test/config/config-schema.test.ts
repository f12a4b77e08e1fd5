import { describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/config-schema.ts";

describe("configSchema", () => {
  it("says of every option what it is for", () => {
    const bare = Object.entries(configSchema.shape).filter(([, field]) => !field.description);

    expect(bare).toEqual([]);
  });
});
