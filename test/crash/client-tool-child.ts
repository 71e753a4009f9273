import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { openScriptedFamiliar } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'

/**
 * A client with its own tool, whose message has a key: restarted after a kill it asks again, and answers its calls.
 * Kills itself at the given step; otherwise reports how often each was passed.
 */
const [home = '', step = '', passing = ''] = process.argv.slice(2)
const passings = Object.fromEntries(stepNames.map((name) => [name, 0])) as Record<StepName, number>

const familiar = await openScriptedFamiliar({
  model: createScriptedModel({
    script: (request) => {
      const last = request.messages.at(-1)
      return last?.role === 'tool' ? { text: `told: ${last.results[0]?.text}` } : { toolCalls: [{ name: 'ring_bell' }] }
    },
  }),
  home,
  toml: '[memory]\nconversations = false\nextraction = false\n',
  onStep(name) {
    passings[name] += 1
    if (name === step && passings[name] === Number(passing)) process.kill(process.pid, 'SIGKILL')
  },
})
const { conversations, database, userId } = familiar
await conversations.recover()
await familiar.lead()
const bell = { name: 'ring_bell', description: 'Rings.', inputSchema: { type: 'object', properties: {} } }
const { messageId, sessionId } = await conversations.submit(
  familiar.inbound('Ring!', { key: 'rings', clientTools: [bell] }),
)
let reply = await conversations.waitForReply(messageId)
if (reply.kind === 'asks') {
  const results = reply.calls.map(({ id }) => ({ callId: id, result: 'ding', isError: false, isUntrusted: false }))
  await conversations.giveToolResults({ userId, sessionId, results })
  reply = await conversations.waitForReply(messageId)
}
const events = await conversations.history(userId, sessionId)
const finished = events.filter((event) => event.type === 'tool_finished')
const calls = await database.read.selectFrom('client_calls').select('state').execute()
await familiar.close({ keep: true })
console.log(
  JSON.stringify({
    passings,
    text: reply.kind === 'ended' ? reply.end.text : null,
    results: finished.map((event) => event.text),
    calls: calls.map(({ state }) => state),
  }),
)
