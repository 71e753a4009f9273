import { afterEach, describe, expect, it } from 'vitest'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { waitFor } from '../support/wait-for.ts'

const languages: [name: string, told: string, question: string, answer: string][] = [
  ['Chinese', '我住在上海。', '我住在哪里？', '上海'],
  ['Japanese', '私は大阪に住んでいます。', '私はどこに住んでいますか？', '大阪'],
  ['German', 'Ich wohne in Lübeck.', 'Wo wohne ich?', 'Lübeck'],
  ['Arabic', 'أسكن في دبي.', 'أين أسكن؟', 'دبي'],
]

const kept: Record<string, [noted: string, promised: string]> = {
  Chinese: ['已记下：“我住在上海。”', '我会记住'],
  Japanese: ['メモしました：「私は大阪に住んでいます。」', '覚えておき'],
  German: ['Notiert: „Ich wohne in Lübeck.“', 'Ich merke es mir'],
  Arabic: ['تم الحفظ: «أسكن في دبي.»', 'سأتذكّره'],
}

let close: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of close.toReversed()) await end()
  close = []
})

async function search(familiar: RunningFamiliar, words: string): Promise<string> {
  return await (await familiar.request('GET', `/api/v1/memories/search?q=${encodeURIComponent(words)}`)).text()
}

/** Conversations become memories in the background. */
async function isLearnt(familiar: RunningFamiliar, [, , question, answer]: (typeof languages)[number]) {
  await waitFor(async () => expect(await search(familiar, question)).toContain(answer))
}

describe('recalling in a new conversation', () => {
  it.each(languages)('MEM-3 OFFLINE-1 is known without a model: %s', async (...language) => {
    const [name, told, question, answer] = language
    const familiar = await startFamiliar()
    close.push(() => familiar.close())
    const first = await familiar.chat(told, { session: 'first' })
    for (const words of kept[name] ?? []) expect(first.reply).toContain(words)
    await isLearnt(familiar, language)
    expect((await familiar.chat(question, { session: 'second' })).reply).toContain(answer)
    const other = { Chinese: '我的车是什么颜色？', Japanese: '私の車は何色ですか？', Arabic: 'ما لون سيارتي؟' }[name]
    expect((await familiar.chat(other ?? 'Welche Farbe hat mein Auto?', { session: 'third' })).reply).not.toContain(
      answer,
    )
  })

  it.each(languages)('MEM-5 is in the request to a model: %s', async (...language) => {
    const [, told, question, answer] = language
    const fake = await startFakeModel({ script: () => ({ text: 'Fine.' }) })
    close.push(() => fake.close())
    const provider = `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`
    const familiar = await startFamiliar({ providers: { fake: provider }, toml: '[routes]\nprimary = "fake/main"\n' })
    close.push(() => familiar.close())
    await familiar.chat(told, { session: 'first' })
    await isLearnt(familiar, language)
    const before = fake.requests.length
    await familiar.chat(question, { session: 'second' })
    const asked = fake.requests.slice(before).map(({ body }) => JSON.stringify(body))
    expect(asked.find((body) => body.includes(question))).toContain(answer)
  })
})
