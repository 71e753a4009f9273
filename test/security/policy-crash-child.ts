import { appendFileSync } from 'node:fs'
import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { createGuardedTools } from '../support/guarded-tools.ts'
import { createObeyingModel } from '../support/obeying-model.ts'
import { openScriptedFamiliar } from '../support/scripted-familiar.ts'

/**
 * A user who is asked for approval and gives it, in the chat or elsewhere, with every message under its key: restarted
 * after a kill it continues. Kills itself at the given step; otherwise reports how often each was passed.
 */
const [home = '', ledger = '', way = '', step = '', passing = ''] = process.argv.slice(2)
const passings = Object.fromEntries(stepNames.map((name) => [name, 0])) as Record<StepName, number>

const guarded = createGuardedTools()
const tools = guarded.tools.map((tool) =>
  tool.definition.name !== 'send'
    ? tool
    : {
        ...tool,
        async run(...call: Parameters<typeof tool.run>) {
          appendFileSync(ledger, 'sent\n')
          return tool.run(...call)
        },
      },
)
const familiar = await openScriptedFamiliar({
  model: createObeyingModel(),
  home,
  tools,
  toml: '[memory]\nconversations = false\nextraction = false\n',
  onStep(name) {
    passings[name] += 1
    if (name === step && passings[name] === Number(passing)) process.kill(process.pid, 'SIGKILL')
  },
})
const { conversations, database, userId } = familiar
await conversations.recover()
const order = 'CALL send {"body":"the alarm code"}'

if (way === 'prepare') await familiar.say('CALL read_page {}\nCALL open_drawer {}', { key: 'prepared' })
else {
  await familiar.say(order, { key: 'asks' })
  if (way === 'words') await familiar.say('yes', { key: 'answers' })
  else await approveElsewhere()
  // A repeated request is asked again.
  if (step === '') await familiar.say(order, { key: 'asks again' })
}
const approvals = await database.read.selectFrom('approvals').select('state').orderBy('asked_at').execute()
await familiar.close({ keep: true })
console.log(JSON.stringify({ passings, states: approvals.map(({ state }) => state) }))

async function approveElsewhere(): Promise<void> {
  const { id } = await database.read.selectFrom('approvals').select('id').executeTakeFirstOrThrow()
  await conversations.answerApproval({ userId, id, answer: 'approve', from: 'http' })
  const message = await database.read.selectFrom('inbox').select('id').where('key', '=', id).executeTakeFirstOrThrow()
  await conversations.waitForTurn(message.id)
}
