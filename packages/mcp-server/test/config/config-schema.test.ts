import { describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/config-schema.ts";

describe("configSchema", () => {
  it("describes every option", () => {
    const bare = Object.entries(configSchema.shape).filter(([, field]) => !field.description);

    expect(bare).toEqual([]);
  });
});
