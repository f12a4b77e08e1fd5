/** How the report of a probe begins that finds nothing to attack, with its walls or without. */
export const NOT_IN_THIS_KERNEL = "this kernel has no";
