import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'
import { foldLetters } from '../../storage/words.ts'
import { evidenceOf, isGrounded } from '../learning/write-learned.ts'

const chinese = [
  '我的护照2028年到期。',
  '我住在上海。',
  '我妹妹叫小红，她在北京上大学。',
  '我对花生过敏，不能吃花生酱。',
  '车停在地下二层的B区。',
  '医生说我每天要走八千步。',
  '备用钥匙在邻居王阿姨家。',
  '我喜欢喝乌龙茶，不喜欢咖啡。',
  '结婚纪念日是六月四日。',
  '爸爸下个月要做膝盖手术。',
  '公司的无线网络密码写在白板后面。',
  '我正在学吉他，老师姓李。',
  '小狗叫豆豆，今年三岁了。',
  '周五晚上要和客户吃饭。',
  '我的血型是O型。',
  '冰箱的保修期到明年三月。',
  '去年夏天我们去了青岛看海。',
  '我在银行工作，负责贷款。',
]
const japanese = [
  '私は大阪に住んでいます。',
  'パスポートの期限は2029年です。',
  '妹の名前は花子です。京都の大学に通っています。',
  'えびアレルギーがあります。',
  '自転車は駅前の駐輪場に止めてあります。',
  '合鍵は田中さんに預けています。',
  '毎朝コーヒーを飲みます。紅茶は苦手です。',
  '結婚記念日は六月四日です。',
  '来月、父が手術を受けます。',
  'ギターを習っています。先生は鈴木さんです。',
  '犬の名前はポチで、三歳です。',
  '金曜日の夜に取引先と会食があります。',
  '血液型はA型です。',
  '冷蔵庫の保証は来年の三月までです。',
  '去年の夏に沖縄へ旅行しました。',
  '銀行で融資の仕事をしています。',
]
/** A question, and a word that only the answer contains. */
const questions = [
  ['我的护照什么时候到期？', '2028'],
  ['我住在哪里？', '上海'],
  ['妹妹在哪里上大学？', '北京'],
  ['我能吃花生吗？', '过敏'],
  ['车停在哪儿了？', '地下二层'],
  ['备用钥匙在谁那里？', '王阿姨'],
  ['我喜欢喝什么茶？', '乌龙'],
  ['结婚纪念日是哪一天？', '六月四日'],
  ['无线网络的密码在哪里？', '白板'],
  ['我家的小狗叫什么名字？', '豆豆'],
  ['冰箱还在保修期吗？', '明年三月'],
  ['去年夏天去了哪里？', '青岛'],
  ['私はどこに住んでいますか？', '大阪'],
  ['パスポートの期限はいつですか？', '2029'],
  ['妹の大学はどこですか？', '花子'],
  ['アレルギーはありますか？', 'えび'],
  ['自転車はどこに止めましたか？', '駐輪場'],
  ['合鍵は誰に預けていますか？', '田中'],
  ['父の手術はいつですか？', '来月'],
  ['犬の名前は何ですか？', 'ポチ'],
  ['血液型は何型ですか？', 'A型'],
  ['去年の夏はどこへ旅行しましたか？', '沖縄'],
] as const

let store: RecallStore
beforeEach(async () => {
  store = await openRecallStore()
})
afterEach(() => store.close())

describe('recall in every script', () => {
  it('MEM-3 finds a Chinese word inside a sentence', async () => {
    await store.note('我的护照2028年到期。')
    await store.note('明天下午三点开会。')
    expect(await store.ask('护照')).toEqual(['我的护照2028年到期。'])
  })

  it('MEM-3 answers questions in Chinese and Japanese from the right notes', async () => {
    for (const content of [...chinese, ...japanese]) await store.note(content)
    const ranks: number[] = []
    for (const [question, answer] of questions) {
      const found = await store.ask(question, 5)
      ranks.push(found.findIndex((content) => content.includes(answer)))
    }
    const hits = (most: number) => ranks.filter((rank) => rank >= 0 && rank < most).length
    expect({ first: hits(1), five: hits(5) }).toEqual({ first: 22, five: 22 })
  })

  it.each([
    ['Thai', 'ฉันแพ้กุ้ง', 'แพ้อะไร'],
    ['Lao', 'ຂ້ອຍຢູ່ວຽງຈັນ', 'ວຽງຈັນ'],
    ['Khmer', 'ខ្ញុំរស់នៅភ្នំពេញ', 'ភ្នំពេញ'],
    ['Korean', '저는 부산에 살아요', '부산'],
    ['Arabic with and without vowel signs', 'جَوازُ السَّفَرِ في الدُّرجِ', 'أين جواز السفر؟'],
    ['Arabic with the article and a possessive', 'الجواز في الدرج', 'أين جوازي؟'],
    ['Hebrew with points', 'הַמַּפְתֵּחַ אצל רות', 'איפה המפתח?'],
    ['Russian with a stress mark', 'Ёлка стоит в гости́ной', 'елка в гостиной'],
    ['German without umlauts', 'Die Schlüssel liegen in der Schublade', 'schlussel'],
    ['German with ss', 'Ich wohne in der Goethestraße', 'GOETHESTRASSE'],
    ['Greek without accents', 'Το κλειδί είναι στο συρτάρι', 'ΚΛΕΙΔΙ'],
    ['wide letters', 'ＮＨＫを毎朝見ます', 'nhk'],
  ])('MEM-3 finds %s', async (_what, note, question) => {
    await store.note(note)
    await store.note('The ladder is behind the shed')
    expect(await store.ask(question)).toEqual([note])
  })

  it('MEM-8 verifies a claim in Chinese', () => {
    const evidence = evidenceOf(['我住在上海，下个月搬到杭州。'])
    expect(isGrounded('用户住在上海', evidence)).toBe(true)
    expect(isGrounded('上海', evidence)).toBe(true)
    expect(isGrounded('用户喜欢足球比赛', evidence)).toBe(false)
  })

  it('STORE-5 folding is idempotent for any text', () => {
    const arabic = fc.string({ unit: fc.constantFrom(...'ابتةجهويىأإآلكفنم ًَ'), maxLength: 30 })
    fc.assert(
      fc.property(fc.oneof(arabic, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' })), (text) => {
        const once = foldLetters(text)
        expect(foldLetters(once)).toBe(once)
      }),
    )
  })
})

describe('filters', () => {
  it('MEM-3 searches only among filtered notes: one of 260 notes has the tag', async () => {
    const wanted = await store.note('A dog sleeps in the office', { tags: ['work'], at: 1_000 })
    for (let number = 0; number < 260; number += 1) await store.note(`My dog has eaten ${number} bones`)
    const found = await store.recall({ userId: 'max', text: 'dog', limit: 5, filter: { tag: 'work' } })
    expect(found.map(({ memory }) => memory.id)).toEqual([wanted.id])
    expect(await store.recall({ userId: 'max', text: 'dog', limit: 5, filter: { until: 2_000 } })).toHaveLength(1)
    expect(await store.recall({ userId: 'max', text: 'dog', limit: 5, kinds: ['fact'] })).toEqual([])
    expect(await store.recall({ userId: 'eve', text: 'dog', limit: 5, filter: { tag: 'work' } })).toEqual([])
  })

  it('MEM-3 follows a tag that is changed or removed', async () => {
    const note = await store.note('A dog sleeps in the office', { tags: ['work'] })
    await store.database.write((writer) => store.memories.editIn(writer, note, { tags: ['home'] }))
    const ask = (tag: string) => store.recall({ userId: 'max', text: 'dog', limit: 5, filter: { tag } })
    expect(await ask('work')).toEqual([])
    expect(await ask('home')).toHaveLength(1)
  })
})

describe('long notes', () => {
  it('MEM-3 finds the end of a long note, once, with its passage', async () => {
    const filler = Array.from({ length: 200 }, (_, index) => `Day ${index}: we walked along the river.`).join('\n\n')
    const long = await store.note(`${filler}\n\nThe spare key is under the blue flowerpot.`)
    await store.note('The river is cold')
    const [first, ...others] = await store.recall({ userId: 'max', text: 'Where is the spare key?', limit: 5 })
    expect(first?.memory.id).toBe(long.id)
    expect(first?.passage).toContain('blue flowerpot')
    expect(first?.passage?.length).toBeLessThan(1_800)
    expect(others.filter(({ memory }) => memory.id === long.id)).toEqual([])
  })
})
