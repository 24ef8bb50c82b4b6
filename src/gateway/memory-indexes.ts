import { MemoryIndexes } from "../core/memory/memory-indexes.ts";

/** The search indexes of this isolate, for all origins together. */
export const memoryIndexes = new MemoryIndexes();

/** For a look at a snapshot that nobody searches yet: nothing of it stays, and it takes no other's place. */
export const passingIndexes = new MemoryIndexes(0);
