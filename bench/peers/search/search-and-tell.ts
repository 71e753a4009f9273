import { askAll, type Figures } from '../../recall-scale/ask-all.ts'
import type { Life } from '../../recall-scale/life.ts'

/** A memory that is filled with the lines of a life and asked about them. */
export interface Searcher {
  /** Keeps the lines 0 to `size`. */
  fill(size: number): Promise<Life>
  /** The numbers of the twenty lines that are found. */
  search(text: string): Promise<number[]>
}

export interface SearchFigures extends Figures {
  memoriesPerSecond: number | null
  rssMegabytes: number
}

/**
 * The process of a contestant: its arguments are the size and the number of questions, its output is one line of
 * figures.
 */
export async function searchAndTell({ fill, search }: Searcher): Promise<void> {
  const [size, count] = process.argv.slice(2).map(Number) as [number, number]
  const begun = performance.now()
  const life = await fill(size)
  const memoriesPerSecond = Math.round((size / (performance.now() - begun)) * 1_000)
  const questions = Array.from({ length: count }, (_, turn) => life.question(Math.floor((turn * size) / count)))
  const figures: SearchFigures = {
    ...(await askAll(
      questions,
      ({ text }) => search(text),
      ({ answer }) => answer,
    )),
    memoriesPerSecond,
    rssMegabytes: Math.round(process.memoryUsage().rss / 1e6),
  }
  console.log(JSON.stringify(figures))
}
