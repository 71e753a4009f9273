import type { Tool } from '../tool.ts'
import { createAskUser } from './ask-user.ts'
import { createCommitmentUpdate } from './commitment-update.ts'
import { createDeepMemory } from './deep-memory.ts'
import { createHistoryOpen, type OpenHistory } from './history-open.ts'
import { createMemoryEdit } from './memory-edit.ts'
import { createMemoryForget } from './memory-forget.ts'
import { createMemoryGet } from './memory-get.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { createMemoryQuery } from './memory-query.ts'
import { createMemoryUndo } from './memory-undo.ts'
import { createMemoryWrite } from './memory-write.ts'
import { createMessage } from './message.ts'
import { createReact } from './react.ts'
import { createReason } from './reason.ts'
import { createRecallMemory } from './recall-memory.ts'
import { createSessionStatus, type DescribeStatus } from './session-status.ts'
import { createStoreMemory } from './store-memory.ts'

/** Every tool that comes with the program, but for `find_tools`, which needs the registry that these go into. */
export function createBuiltinTools(
  needs: MemoryNeeds & { describeStatus: DescribeStatus; openHistory: OpenHistory },
): Tool[] {
  return [
    createAskUser(),
    createCommitmentUpdate(needs),
    createDeepMemory(needs),
    createHistoryOpen(needs),
    createMemoryEdit(needs),
    createMemoryForget(needs),
    createMemoryGet(needs),
    createMemoryQuery(needs),
    createMemoryUndo(needs),
    createMemoryWrite(needs),
    createMessage(),
    createReact(),
    createReason(),
    createRecallMemory(needs),
    createSessionStatus(needs),
    createStoreMemory(needs),
  ]
}
