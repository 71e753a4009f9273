import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measurePrompt } from './measure-prompt.ts'
import { measureTurn } from './measure-turn.ts'
import { measureRecall } from './recall/measure-recall.ts'
import { measureRecallScale } from './recall-scale/measure-recall-scale.ts'
import { sizeTable } from './recall-scale/size-table.ts'

const usage = `Usage: npm run bench -- turn|prompt [--turns N] [--sessions N] [--out FILE]

  turn     what a turn costs beside a bare loop and the AI SDK's own, in one run: overhead, start-up, memory, rate
  prompt   how much of each request repeats the one before, and how large the first one is
  recall-scale   recall of one user with many memories: --sizes 10000,50000,1000000 --questions N
`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string' },
    sessions: { type: 'string' },
    out: { type: 'string' },
    docs: { type: 'string' },
    queries: { type: 'string' },
    store: { type: 'string' },
    sizes: { type: 'string' },
    questions: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
})
const [name] = positionals

if (name === 'turn' && !values.help) {
  const turns = Number(values.turns ?? 500)
  const sessions = Number(values.sessions ?? 50)
  const report = await measureTurn({ turns, sessions, say: (line) => console.error(line) })
  console.table(report.contestants)
  const [bare, , familiar] = report.contestants
  if (bare && familiar) {
    console.log(`overhead: ${(familiar.overheadP50Ms / bare.overheadP50Ms).toFixed(2)} × the bare loop`)
    console.log(`turns a second: ${(familiar.turnsPerSecond / bare.turnsPerSecond).toFixed(2)} × the bare loop`)
  }
  write(name, report)
} else if (name === 'recall' && !values.help && values.docs && values.queries) {
  const { docs, queries, out, store } = values
  const report = await measureRecall({ docs, queries, out, store, say: (line) => console.error(line) })
  console.table(report.contestants)
  console.table(report.categories)
} else if (name === 'recall-scale' && !values.help) {
  const sizes = (values.sizes ?? '10000,50000').split(',').map(Number)
  const questions = Number(values.questions ?? 200)
  const report = await measureRecallScale({
    sizes,
    questions,
    store: values.store,
    say: (line) => console.error(line),
  })
  console.log(report.note)
  console.table(sizeTable(report))
  write(name, report)
} else if (name === 'prompt' && !values.help) {
  const turns = Number(values.turns ?? 50)
  const figures = [await measurePrompt('anthropic', turns), await measurePrompt('openai-compatible', turns)]
  console.table(figures)
  write(name, figures)
} else {
  console.log(usage)
  process.exitCode = values.help ? 0 : 2
}

function write(bench: string, result: unknown): void {
  const file = values.out ?? join(import.meta.dirname, 'results', `${bench}.json`)
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length }
  writeFileSync(file, `${JSON.stringify({ bench, machine, result }, null, 2)}\n`)
  console.log(`written to ${file}`)
}
