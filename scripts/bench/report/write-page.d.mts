export declare const RESULTS: URL;
export declare function writePage(): Promise<void>;
export declare function makePage(): Promise<Readonly<Record<string, string>>>;
