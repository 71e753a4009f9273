import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { openScriptedFamiliar, said, toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'

/**
 * A conversation that delegates a task and reports its result, with its message under a key: restarted after a kill it
 * continues. Kills itself at the given step; otherwise reports how often each was passed.
 */
const [home = '', step = '', passing = ''] = process.argv.slice(2)
const passings = Object.fromEntries(stepNames.map((name) => [name, 0])) as Record<StepName, number>

/** By the conversation so far, never by a count: after a restart the count begins at zero. */
function model(id: string, call: { name: string; input: { task: string } | null }) {
  return createScriptedModel({
    info: { id },
    script: (request) => {
      const last = request.messages.at(-1)
      return last?.role === 'tool' ? { text: `told: ${last.results[0]?.text}` } : { toolCalls: [call] }
    },
  })
}

const familiar = await openScriptedFamiliar({
  model: {
    primary: [model('scripted/main', { name: 'sessions_spawn', input: { task: 'Look at the sky.' } })],
    subagent: [model('scripted/child', { name: 'look', input: null })],
  },
  home,
  tools: [toolOf('look', async () => said('blue'))],
  toml: '[memory]\nconversations = false\nextraction = false\n',
  onStep(name) {
    passings[name] += 1
    if (name === step && passings[name] === Number(passing)) process.kill(process.pid, 'SIGKILL')
  },
})
const { conversations, database, userId } = familiar
await conversations.recover()
await familiar.lead()
const end = await familiar.say('What colour is the sky?', { key: 'asks' })
const events = await conversations.history(userId, end.sessionId)
const finished = events.filter((event) => event.type === 'tool_finished')
const spawns = await database.read.selectFrom('spawns').select('state').execute()
const sessions = await database.read.selectFrom('sessions').select('id').where('channel', '=', 'subagent').execute()
const open = await database.read.selectFrom('cost_ledger').select('id').where('state', '=', 'reserved').execute()
const turns = await database.read.selectFrom('cost_ledger').select('turn_id').distinct().execute()
await familiar.close({ keep: true })
console.log(
  JSON.stringify({
    passings,
    text: end.text,
    results: finished.map((event) => event.text),
    spawns: spawns.map(({ state }) => state),
    sessions: sessions.length,
    open: open.length,
    paying: turns.length,
  }),
)
