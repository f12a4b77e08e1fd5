/** The beginning of the name of a folder in which the new contents of an apply wait. It lies in the directory itself. */
export const STAGE_PREFIX = ".budgie-apply-";
