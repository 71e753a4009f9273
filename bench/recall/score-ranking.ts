import type { Doc, Query } from './recall-data.ts'

export interface RankingScore {
  'R@5': number
  'R@10': number
  'R@20': number
  'session R@10': number
  /** Inside the first 2,000 tokens, at four characters each. */
  'R@2000t': number
}

const budgetCharacters = 2_000 * 4

/** How much of what answers the question is among the first of the ranking. */
export function scoreRanking(
  { gold, gold_sessions }: Query,
  ranked: readonly string[],
  docs: ReadonlyMap<string, Doc>,
): RankingScore {
  const among = (found: Iterable<string>, wanted: readonly string[]) => {
    const set = new Set(found)
    return wanted.filter((id) => set.has(id)).length / Math.max(1, wanted.length)
  }
  const sessions = [...new Set(ranked.flatMap((id) => docs.get(id)?.session ?? []))]
  return {
    'R@5': among(ranked.slice(0, 5), gold),
    'R@10': among(ranked.slice(0, 10), gold),
    'R@20': among(ranked.slice(0, 20), gold),
    'session R@10': among(sessions.slice(0, 10), gold_sessions),
    'R@2000t': among(withinBudget(ranked, docs), gold),
  }
}

export function meanScore(scores: readonly RankingScore[]): RankingScore {
  const mean = (key: keyof RankingScore) =>
    Math.round((1_000 * scores.reduce((sum, score) => sum + score[key], 0)) / Math.max(1, scores.length)) / 10
  return {
    'R@5': mean('R@5'),
    'R@10': mean('R@10'),
    'R@20': mean('R@20'),
    'session R@10': mean('session R@10'),
    'R@2000t': mean('R@2000t'),
  }
}

function* withinBudget(ranked: readonly string[], docs: ReadonlyMap<string, Doc>): Generator<string> {
  let left = budgetCharacters
  for (const id of ranked) {
    const doc = docs.get(id)
    left -= (doc?.text.length ?? 0) + (doc?.caption.length ?? 0)
    if (left < 0) return
    yield id
  }
}
