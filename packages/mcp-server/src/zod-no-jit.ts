import { config } from "zod";

// zod would write and compile a program for each schema, which costs a start more than all that is ever parsed.
config({ jitless: true });
