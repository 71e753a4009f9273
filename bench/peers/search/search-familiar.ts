import { measureRecallScale } from '../../recall-scale/measure-recall-scale.ts'
import type { SearchFigures } from './search-and-tell.ts'

const [size, questions] = process.argv.slice(2).map(Number) as [number, number]
const silent = () => undefined
// The vectors are the same hash projections as the others': no model's time is in any of the figures.
const report = await measureRecallScale({
  sizes: [size],
  questions,
  store: undefined,
  embedsQuestions: false,
  say: silent,
})
const [measured] = report.sizes
if (!measured) throw new Error('Nothing was measured')
const { recall, vectors, memoriesPerSecond, rssMegabytes } = measured
const figures: SearchFigures & { vectorsAlone: typeof vectors } = {
  ...recall,
  vectorsAlone: vectors,
  memoriesPerSecond,
  rssMegabytes,
}
console.log(JSON.stringify(figures))
