import { parentPort } from 'node:worker_threads'
import { FamiliarError } from '../../protocol/error.ts'
import type { StoredVectors } from './stored-vectors.ts'
import type { VectorAnswer, VectorRequest } from './vector-thread.ts'

/** What a thread of `startVectorThread` does: one question after the other. `toError` says what a failure of the engine means. */
export function answerVectorQuestions(stored: StoredVectors, toError: (thrown: unknown) => unknown): void {
  let before: Promise<unknown> = Promise.resolve()
  parentPort?.on('message', ({ id, question }: VectorRequest) => {
    before = before.then(async () => {
      parentPort?.postMessage({ id, ...(await answer(question)) } satisfies VectorAnswer)
    })
  })

  async function answer(question: VectorRequest['question']): Promise<Omit<VectorAnswer, 'id'>> {
    try {
      return { matches: await stored.search(question) }
    } catch (thrown) {
      const error = toError(thrown)
      if (error instanceof FamiliarError) return { failure: { code: error.code, message: error.message } }
      return { failure: { code: 'internal', message: `The search by meaning failed: ${(error as Error).message}` } }
    }
  }
}
