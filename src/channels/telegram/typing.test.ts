import { afterEach, expect, test } from 'vitest'
import { noCommands, openTelegram } from '../../../test/support/fake-telegram/open-telegram.ts'
import { startFakeTelegram } from '../../../test/support/fake-telegram/start-fake-telegram.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openScriptedFamiliar } from '../../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'

const anna = 71
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

test('CHAN-1 the chat shows typing while one of its turns runs, and not after', async () => {
  const answer = Promise.withResolvers<{ text: string }>()
  const model = createScriptedModel({ script: () => answer.promise })
  const familiar = await openScriptedFamiliar({ model, toml: '[sessions]\ndebounce_ms = 0\n' })
  closers.push(() => familiar.close())
  const server = await startFakeTelegram()
  closers.push(server.close)
  const clock = createManualClock()
  const telegram = await openTelegram({
    familiar: { ...familiar, commands: noCommands },
    server,
    allowedIds: [anna],
    clock,
  })
  closers.push(telegram.close)
  const shown = () => server.calls.filter(({ method }) => method === 'sendChatAction')
  const another = familiar.say('Elsewhere')
  server.say(anna, 'Hello')
  // The test controls when the log is checked.
  const untilShown = async (count: number) => {
    while (shown().length < count) {
      await clock.advance(500)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  await untilShown(2)
  expect(shown().map(({ chatId, parameters }) => [chatId, parameters.action])).toContainEqual([anna, 'typing'])
  expect(new Set(shown().map(({ chatId }) => chatId))).toEqual(new Set([anna]))
  answer.resolve({ text: 'Hello, Anna.' })
  await another
  const [{ id } = { id: '' }] = await familiar.database.read
    .selectFrom('inbox')
    .select('id')
    .where('key', 'like', 'telegram:%')
    .execute()
  await familiar.conversations.waitForTurn(id)
  await clock.advance(10_000)
  const before = shown().length
  await clock.advance(60_000)
  expect(shown()).toHaveLength(before)
})
