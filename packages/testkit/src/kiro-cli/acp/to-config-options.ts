import { MODELS } from "../profile/models.ts";
import type { AcpSession } from "./answer-prompt.ts";
import type { Params } from "./serve-json-rpc.ts";

/** Returns the options of a session of V3. */
export function toConfigOptions({ model, v3 }: AcpSession, mode: string) {
  const autopilot = v3?.autopilot === true ? "on" : "off";
  return [
    toOption("mode", mode, [mode]),
    toOption("autopilot", autopilot, ["on", "off"]),
    toOption("model", model ?? "auto", MODELS),
  ];
}

function toOption(id: string, currentValue: string, values: readonly string[]) {
  const category = id === "autopilot" ? {} : { category: id };
  return {
    type: "select",
    id,
    name: id,
    ...category,
    currentValue,
    options: values.map((value) => ({ value, name: value })),
  };
}

/** Sets an option. An unknown model is stored, and fails the next prompt. */
export function setConfigOption(session: AcpSession, { configId, value }: Params): void {
  if (configId === "model") session.model = String(value);
  if (configId === "autopilot") session.v3 = { rules: session.v3?.rules ?? [], autopilot: value === "on" };
}
