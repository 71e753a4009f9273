import type { Worker } from 'node:worker_threads'
import { type AskedThread, askThread } from '../../base/asked-thread.ts'
import { type ErrorCode, FamiliarError } from '../../protocol/error.ts'
import type { VectorMatch } from '../vector-search.ts'
import type { VectorQuestion } from './stored-vectors.ts'

export interface VectorRequest {
  id: number
  question: VectorQuestion
}

export interface VectorAnswer {
  id: number
  matches?: VectorMatch[]
  failure?: { code: ErrorCode; message: string }
}

/** The thread that searches. Resolves its end when it has let go of the database. */
export type VectorThread = AskedThread<VectorQuestion, VectorMatch[]>

/** The worker runs `answerVectorQuestions`. `onEnd` is called once, whether it was ended or died. */
export function startVectorThread(worker: Worker, onEnd: () => void): VectorThread {
  const thread = askThread<Omit<VectorRequest, 'id'>, VectorAnswer, VectorMatch[]>({
    worker,
    name: 'The search by meaning',
    read({ matches, failure }) {
      if (failure) throw new FamiliarError(failure.code, failure.message)
      return matches ?? []
    },
    onEnd,
  })
  return {
    get isIdle() {
      return thread.isIdle
    },
    // A copy of the vector: one that is part of a larger buffer would take all of that along.
    ask: (question, signal) => thread.ask({ question: { ...question, vector: question.vector.slice() } }, signal),
    end: thread.end,
  }
}
