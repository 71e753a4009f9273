import type { FactReply } from '../../../../src/protocol/fact-api.ts'

export type Column = 'entity' | 'attribute' | 'value' | 'confidence' | 'valid_from'

export interface Sorting {
  by: Column
  isDown: boolean
}

const compareText = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' }).compare

export function sortFacts(facts: readonly FactReply[], { by, isDown }: Sorting): FactReply[] {
  const sign = isDown ? -1 : 1
  return facts.toSorted((a, b) => sign * (by === 'confidence' ? a[by] - b[by] : compareText(a[by], b[by])))
}

/** Every word has to be somewhere in it. */
export function filterFacts(facts: readonly FactReply[], filter: { words: string; entity: string; attribute: string }) {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  return facts.filter(
    ({ entity, attribute, value }) =>
      (filter.entity === '' || entity === filter.entity) &&
      (filter.attribute === '' || attribute === filter.attribute) &&
      words.every((word) => `${entity} ${attribute} ${value}`.toLowerCase().includes(word)),
  )
}

/** How many there are of each, the most first. */
export function countBy(
  facts: readonly FactReply[],
  column: 'entity' | 'attribute',
): { name: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const fact of facts) counts.set(fact[column], (counts.get(fact[column]) ?? 0) + 1)
  return Array.from(counts, ([name, count]) => ({ name, count })).sort(
    (a, b) => b.count - a.count || compareText(a.name, b.name),
  )
}

/** From the address: anything else is the newest first. */
export function readSorting(text: string | null): Sorting {
  const [, sign, name] = /^(-?)(entity|attribute|value|confidence|valid_from)$/.exec(text ?? '') ?? []
  return name ? { by: name as Column, isDown: sign === '-' } : { by: 'valid_from', isDown: true }
}

export function writeSorting({ by, isDown }: Sorting): string {
  return `${isDown ? '-' : ''}${by}`
}
