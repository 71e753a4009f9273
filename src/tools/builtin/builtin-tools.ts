import type { Notes } from '../../memory/notes.ts'
import type { Tool } from '../tool.ts'
import { createAskUser } from './ask-user.ts'
import { createHistoryOpen, type OpenHistory } from './history-open.ts'
import { createMemoryGet } from './memory-get.ts'
import { createRecallMemory } from './recall-memory.ts'
import { createSessionStatus, type DescribeStatus } from './session-status.ts'
import { createStoreMemory } from './store-memory.ts'

/** Every tool that comes with the program, but for `find_tools`, which needs the registry that these go into. */
export function createBuiltinTools(needs: {
  notes: Notes
  describeStatus: DescribeStatus
  openHistory: OpenHistory
  /** The user's, as IANA names it: a memory carries the date that the user's calendar showed. */
  timeZone: string
}): Tool[] {
  return [
    createAskUser(),
    createHistoryOpen(needs),
    createMemoryGet(needs),
    createRecallMemory(needs),
    createSessionStatus(needs),
    createStoreMemory(needs),
  ]
}
