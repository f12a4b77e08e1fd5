// The public surface of @budgie/sandbox/images: every export is named here, and becomes API.
export { chooseImage } from "./choose-image.ts";
export { findImageSource, type ImageSource } from "./find-image-source.ts";
export { readImageApprovals, removeImageApproval, storeImageApproval, type ImageApproval } from "./image-approval.ts";
export { judgeImageSource, NO_IMAGE, type ImageState } from "./judge-image-source.ts";
export { readInputs, type InputFile } from "./read-inputs.ts";
