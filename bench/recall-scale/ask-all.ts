import { median, percentile, rounded } from '../statistics.ts'
import type { Question } from './life.ts'

export interface Figures {
  p50Ms: number
  p95Ms: number
  /** The share of questions whose answer is among what was found. */
  hits: number
}

// A daemon runs for days: what its first questions take to be compiled is not what a question takes.
const warmUpQuestions = 20

/** One after another, as a user asks. */
export async function askAll(
  questions: readonly Question[],
  search: (question: Question) => Promise<readonly unknown[]>,
  answerTo: (question: Question) => unknown,
): Promise<Figures> {
  for (const question of questions.slice(0, warmUpQuestions)) await search(question)
  const times: number[] = []
  let hits = 0
  for (const question of questions) {
    const begun = performance.now()
    const answers = await search(question)
    times.push(performance.now() - begun)
    if (answers.includes(answerTo(question))) hits += 1
  }
  return {
    p50Ms: rounded(median(times)),
    p95Ms: rounded(percentile(times, 0.95)),
    hits: rounded(hits / questions.length, 3),
  }
}
