import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isRecallEngine } from './recall/recall-engine.ts'

const usage = `Usage: npm run bench -- BENCH [options]

  turn           what a turn costs beside a bare loop and the AI SDK's own: overhead, start-up, memory, rate
                 [--turns N] [--sessions N]
  prompt         how much of each request repeats the one before, and how large the first one is
                 [--turns N]
  recall         how much of what answers a question is recalled, beside plain full text and keyword scoring
                 --docs FILE --queries FILE [--out FILE of rankings] [--figures FILE] [--store DIRECTORY to keep]
                 [--engine sqlite|postgres|pgvector]
  recall-scale   recall of one user with many memories: time, size, insertion rate
                 [--sizes 10000,50000,1000000] [--questions N] [--store DIRECTORY to keep]
  sandbox        what a sandboxed Python tool costs beside the bare interpreter: cold, forked, in a container engine
                 [--calls N] [--socket PATH of a container engine]
  capability     what a call of a capability costs beside the bare interpreter: cold and forked, with and without numpy
                 [--calls N]
  gate           what the decision about a call costs with many standing permissions
                 [--sizes 10,1000,100000]
  capability-search
                 whether find_tools finds the right one among many capabilities, and how fast
                 [--sizes 10,1000,10000] [--store DIRECTORY to keep]
  finder         what a keystroke costs in the finder of files, and whether it finds what fzf finds
                 [--sizes 10,1000,100000,1000000] [--questions N]
  voice          a call in Chromium: from the end of a question to the first sound of the reply, and whether coughs and words are
                 told apart; and how much of what voices say in three languages is written down rightly
                 [--questions N] [--calls N of each kind of interruption] [--store DIRECTORY with voice models, as
                 \`familiar voice install\` fills it]; without it, the models are installed into .runtime/bench-voice
  page           what the page weighs, and how it moves in Chromium: opening and scrolling a long conversation, typing
                 while a reply streams in [--sizes 2000, the messages of the conversation]
  peers          a bare loop, the AI SDK, Mastra, LangGraph and Familiar in one run, on the same fake model; installs the
                 peers from npm into .runtime/bench-peers [--turns N] [--sessions N] [--sizes 10000,100000] [--questions N]
  cluster        turns a second and their cost on PostgreSQL with 1, 2 and 4 daemons, beside one on SQLite
                 [--turns N of each session] [--sessions N] [--sizes 1,2,4, the daemons] [--rounds N]
  simulate       queue and database load at a thousand, a million and a hundred million users, from measured costs
                 [--sizes 1000,1000000,100000000, the users]

Figures are printed and written to --out, otherwise to bench/results.
`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string' },
    sessions: { type: 'string' },
    out: { type: 'string' },
    figures: { type: 'string' },
    docs: { type: 'string' },
    queries: { type: 'string' },
    store: { type: 'string' },
    engine: { type: 'string' },
    sizes: { type: 'string' },
    rounds: { type: 'string' },
    questions: { type: 'string' },
    calls: { type: 'string' },
    socket: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
})
const [name = ''] = positionals
const say = (line: string) => console.error(line)

// Each is loaded only when asked for: what one measures must not weigh on another.
const benches: Record<string, () => Promise<void>> = {
  async turn() {
    const { measureTurn } = await import('./measure-turn.ts')
    const turns = Number(values.turns ?? 500)
    const report = await measureTurn({ turns, sessions: Number(values.sessions ?? 50), say })
    console.table(report.contestants)
    const [bare, , ...ours] = report.contestants
    for (const { name: contestant, overheadP50Ms, turnsPerSecond } of bare ? ours : []) {
      const overhead = overheadP50Ms / (bare?.overheadP50Ms ?? 1)
      const rate = turnsPerSecond / (bare?.turnsPerSecond ?? 1)
      console.log(`${contestant}: overhead ${overhead.toFixed(2)} ×, turns a second ${rate.toFixed(2)} × the bare loop`)
    }
    write(report, values.out)
  },

  async prompt() {
    const { measurePrompt } = await import('./measure-prompt.ts')
    const turns = Number(values.turns ?? 50)
    const figures = [await measurePrompt('anthropic', turns), await measurePrompt('openai-compatible', turns)]
    console.table(figures)
    write(figures, values.out)
  },

  async recall() {
    const { docs, queries, out, store, figures, engine = 'sqlite' } = values
    if (!docs || !queries) return refuse('recall needs --docs FILE and --queries FILE')
    if (!isRecallEngine(engine)) return refuse('--engine is sqlite, postgres or pgvector')
    const { measureRecall } = await import('./recall/measure-recall.ts')
    const report = await measureRecall({ docs, queries, out, store, engine, say })
    console.table(report.contestants)
    console.table(report.categories)
    if (figures) write(report, figures)
  },

  async 'recall-scale'() {
    const { measureRecallScale } = await import('./recall-scale/measure-recall-scale.ts')
    const { sizeTable } = await import('./recall-scale/size-table.ts')
    const sizes = (values.sizes ?? '10000,50000').split(',').map(Number)
    const questions = Number(values.questions ?? 200)
    const report = await measureRecallScale({ sizes, questions, store: values.store, say })
    console.log(report.note)
    console.table(sizeTable(report))
    write(report, values.out)
  },

  async 'capability-search'() {
    const { measureCapabilitySearch } = await import('./capability-search/measure-capability-search.ts')
    const sizes = (values.sizes ?? '10,1000,10000').split(',').map(Number)
    const report = await measureCapabilitySearch({ sizes, store: values.store, say })
    console.table(report.overlap)
    for (const { sets, ...size } of report.sizes) {
      console.log(size)
      for (const [name, { findTools, wordsOnly, withoutSamples, ...subsets }] of Object.entries(sets)) {
        console.log(name, subsets)
        console.table({ findTools, wordsOnly, withoutSamples }, ['recallAt1', 'recallAt5', 'p50Ms', 'p95Ms'])
      }
    }
    write(report, values.out)
  },

  async finder() {
    const { measureFinder } = await import('./finder/measure-finder.ts')
    const sizes = (values.sizes ?? '10,1000,100000,1000000').split(',').map(Number)
    const report = await measureFinder({ sizes, questions: Number(values.questions ?? 40), say })
    for (const { paths, typed, typedCpu, pasted } of report.sizes) {
      console.log(`${paths} paths`)
      console.table({ typed, typedCpu, pasted })
    }
    console.log(report.onDisk)
    console.table(report.besideFzf ?? ['not measured: there is no fzf here'])
    write(report, values.out)
  },

  async voice() {
    const { installBenchVoice, measureFirstSound, measureInterruptions } = await import('./measure-call.ts')
    const { measureVoice } = await import('./measure-voice.ts')
    const folder = values.store ?? (await installBenchVoice(say))
    const questions = Number(values.questions ?? 4)
    const system = await measureFirstSound({ folder, provider: 'system', questions, say })
    const local = await measureFirstSound({ folder, provider: 'local', questions, say })
    console.table([system, local])
    const interruptions = await measureInterruptions({ folder, each: Number(values.calls ?? 10), say })
    console.table([interruptions])
    const { mistakes, ...report } = await measureVoice({ folder, say })
    console.table(report.transcription)
    console.log(report.speech)
    write({ firstSound: [system, local], interruptions, ...report, mistakes }, values.out)
  },

  async page() {
    const { measurePage } = await import('./measure-page.ts')
    const report = await measurePage({ messages: Number(values.sizes ?? 2_000), say })
    console.dir(report, { depth: 4 })
    write(report, values.out)
  },

  async peers() {
    const { measurePeers } = await import('./peers/measure-peers.ts')
    const { toMarkdown } = await import('./peers/to-markdown.ts')
    const { toPicture } = await import('./peers/to-picture.ts')
    const report = await measurePeers({
      turns: Number(values.turns ?? 300),
      sessions: Number(values.sessions ?? 50),
      sizes: (values.sizes ?? '10000,100000').split(',').map(Number),
      questions: Number(values.questions ?? 100),
      say,
    })
    const table = toMarkdown(report)
    console.log(table)
    write(report, values.out)
    writeFileSync(join(import.meta.dirname, 'results/peers.md'), table)
    writeFileSync(join(import.meta.dirname, '../docs/pictures/peers.svg'), toPicture(report))
  },

  async cluster() {
    const { measureCluster } = await import('./cluster/measure-cluster.ts')
    const report = await measureCluster({
      turns: Number(values.turns ?? 20),
      sessions: Number(values.sessions ?? 40),
      daemons: (values.sizes ?? '1,2,4').split(',').map(Number),
      rounds: Number(values.rounds ?? 3),
      say,
    })
    console.table(report.contestants)
    console.log(report.limit)
    write(report, values.out)
  },

  async simulate() {
    const { simulateScale } = await import('./simulate/simulate-scale.ts')
    const sizes = (values.sizes ?? '1000,1000000,100000000').split(',').map(Number)
    const report = simulateScale({ users: sizes, results: join(import.meta.dirname, 'results') })
    console.log(report.costs)
    console.table(report.sizes.map(({ limits: _limits, ...size }) => size))
    for (const { users, limits } of report.sizes) console.log(users, limits)
    write(report, values.out)
  },

  async sandbox() {
    const { measureSandbox } = await import('./measure-sandbox.ts')
    const calls = Number(values.calls ?? 200)
    const report = await measureSandbox({ calls, socketPath: values.socket ?? null, say })
    console.table(report.contestants)
    for (const reason of report.missing) console.log(`not measured: ${reason}`)
    write(report, values.out)
  },

  async capability() {
    const { measureCapability } = await import('./measure-capability.ts')
    const report = await measureCapability({ calls: Number(values.calls ?? 100), say })
    console.table(report.contestants)
    for (const reason of report.missing) console.log(`not measured: ${reason}`)
    await gate()
    write(report, values.out)
  },

  async gate() {
    const report = await gate()
    write(report, values.out)
  },
}

async function gate() {
  const { measureGate } = await import('./measure-gate.ts')
  const report = await measureGate({ sizes: (values.sizes ?? '10,1000,100000').split(',').map(Number), say })
  console.table(report.figures)
  const { worstBestMs, worstMedianMs } = report
  console.log(
    `The gate adds at most ${worstBestMs} ms to a call (quietest row; ${worstMedianMs} ms in the median row).`,
  )
  return report
}

const bench = benches[name]
if (values.help || name === '') console.log(usage)
else if (bench) await bench()
else refuse(`there is no bench "${name}"`)

function refuse(problem: string): void {
  console.error(`${problem}\n\n${usage}`)
  process.exitCode = 2
}

function write(result: unknown, wanted: string | undefined): void {
  const file = wanted ?? join(import.meta.dirname, 'results', `${name}.json`)
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length }
  writeFileSync(file, `${JSON.stringify({ bench: name, machine, result }, null, 2)}\n`)
  console.log(`written to ${file}`)
}
