export type BuildTodo = {
  readonly image: string;
  /** True if the engine has the image, but not all that agents need is in it */
  readonly isThere: boolean;
  readonly presets?: readonly string[];
};

/** Returns the command that builds an image. It does not replace one that the user may have built of something else. */
export function formatBuildTodo({ image, isThere, presets = [] }: BuildTodo): string {
  const command = ["budgie build-image", ...presets.map((preset) => `--with ${preset}`)].join(" ");
  if (image === DEFAULT_IMAGE) return command;
  return isThere ? `${command}    # then name ${DEFAULT_IMAGE} in place of ${image}` : `${command} --tag ${image}`;
}

const DEFAULT_IMAGE = "budgie-sandbox:latest";
