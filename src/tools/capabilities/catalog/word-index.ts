import { allContentWords } from '../../../memory/content-words.ts'
import { stem } from '../../../memory/recall/stem.ts'
import { createBestSlots } from '../../../storage/vectors/best-slots.ts'

/** A part of what is indexed, with what a word in it counts. */
export interface IndexedText {
  text: string
  weight: number
}

/** Texts by their words, ranked by BM25. Words that belong together count as one. */
export interface WordIndex {
  /** In place of what was there under this id. */
  put(id: string, parts: readonly IndexedText[]): void
  delete(id: string): void
  /** How much of what the question asks for each of them says, 0 to 1. */
  compare(question: string): {
    /** Those that have at least one of the words, best first. */
    best(limit: number): { id: string; score: number }[]
    /** 0 where none of the words is in it. */
    scoreOf(id: string): number
  }
}

interface Posting {
  slots: number[]
  weights: number[]
}

/** How soon a repeated word stops to count more, and how much long texts are held back. */
const saturation = 1.2
const lengthShare = 0.4
const mostWords = 32
const nowhere: Posting = { slots: [], weights: [] }

export function createWordIndex(): WordIndex {
  let documents: { id: string; words: ReadonlyMap<string, number>; length: number }[] = []
  let postings = new Map<string, Posting>()
  const slots = new Map<string, number>()
  let totalLength = 0

  function append(id: string, words: ReadonlyMap<string, number>, length: number): void {
    const slot = documents.length
    documents.push({ id, words, length })
    slots.set(id, slot)
    totalLength += length
    for (const [word, weight] of words) {
      const posting = postings.get(word) ?? { slots: [], weights: [] }
      postings.set(word, posting)
      posting.slots.push(slot)
      posting.weights.push(weight)
    }
  }

  /** What was deleted stays in the lists of its words, unseen, until it is the greater part. */
  function rebuild(): void {
    const kept = documents.filter((_, slot) => isCurrent(slot))
    documents = []
    postings = new Map()
    slots.clear()
    totalLength = 0
    for (const { id, words, length } of kept) append(id, words, length)
  }

  const isCurrent = (slot: number) => slots.get(documents[slot]?.id ?? '') === slot
  const rarity = (holders: number) => Math.log(1 + (slots.size - holders + 0.5) / (holders + 0.5))

  const index: WordIndex = {
    put(id, parts) {
      index.delete(id)
      const words = new Map<string, number>()
      let length = 0
      for (const { text, weight } of parts) {
        for (const word of wordsOf(text)) {
          words.set(word, (words.get(word) ?? 0) + weight)
          length += weight
        }
      }
      append(id, words, length)
    },
    delete(id) {
      const slot = slots.get(id)
      if (slot === undefined) return
      totalLength -= documents[slot]?.length ?? 0
      slots.delete(id)
      if (documents.length > 2 * slots.size + 16) rebuild()
    },
    compare(question) {
      const wanted = [...new Set(wordsOf(question))].slice(0, mostWords)
      const mean = totalLength / Math.max(1, slots.size)
      const sums = new Float64Array(documents.length)
      let most = 0
      for (const word of wanted) {
        const { slots: holders, weights } = postings.get(word) ?? nowhere
        const rare = rarity(Math.min(holders.length, slots.size))
        most += rare * (saturation + 1)
        for (let at = 0; at < holders.length; at += 1) {
          const slot = holders[at] as number
          const weight = weights[at] as number
          const longer = 1 - lengthShare + (lengthShare * (documents[slot]?.length ?? 0)) / mean
          sums[slot] = (sums[slot] as number) + (rare * weight * (saturation + 1)) / (weight + saturation * longer)
        }
      }
      return {
        best(limit) {
          const best = createBestSlots(limit, (slot) => -slot)
          let least = 0
          for (let slot = 0; slot < sums.length; slot += 1) {
            const sum = sums[slot] as number
            if (sum > 0 && sum >= least && isCurrent(slot)) least = best.offer(slot, sum)
          }
          return best.take().map(({ slot, score }) => ({ id: documents[slot]?.id ?? '', score: score / most }))
        },
        scoreOf(id) {
          const sum = sums[slots.get(id) ?? -1] ?? 0
          return sum === 0 ? 0 : sum / most
        },
      }
    },
  }
  return index
}

/** Underscores join the words of a name, and are no part of a word for whoever asks. */
export function wordsOf(text: string): string[] {
  return allContentWords(text.replaceAll('_', ' ')).map(stem)
}
