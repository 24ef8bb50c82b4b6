import { MemoryIndexes } from "../core/memory/memory-indexes.ts";

/** The search indexes of this isolate, for all origins together. */
export const memoryIndexes = new MemoryIndexes();
