import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

/** One message of each kind in a language, and what its reply must say. */
interface Talk {
  greeting: [said: string, reply: string]
  told: [said: string, reply: string]
  another: [said: string, reply: string]
  asked: [said: string, reply: string, never: string]
  unknown: [said: string, reply: string]
  reminder: [said: string, reply: string]
  reminders: [said: string, reply: string]
  sum: [said: string, reply: string]
  clock: [said: string, reply: RegExp]
  notes: [said: string, reply: string]
  connect: [said: string, reply: string]
  poem: [said: string, reply: string]
  thanks: [said: string, reply: string]
}

const talks: [name: string, talk: Talk][] = [
  [
    'English',
    {
      greeting: ['Good morning', 'Hello!'],
      told: ['I live in Leeds.', 'Noted: “I live in Leeds.”'],
      another: ['Remember that my sister is a pilot', 'Noted: “my sister is a pilot”.'],
      asked: ['Where do I live?', 'Leeds', 'pilot'],
      unknown: ['What color is my car?', 'I know nothing about that'],
      reminder: ['Remind me tomorrow at 9:00 to call Ruth', 'I will remind you on'],
      reminders: ['What are my reminders?', 'call Ruth'],
      sum: ['What is 12 times 3?', '= 36'],
      clock: ['What time is it?', /It is \w+, \d+ \w+ \d{4} at \d+:\d{2}/],
      notes: ['List my notes', 'Your newest notes:'],
      connect: ['How do I connect a model?', 'To connect a model'],
      poem: ['Write me a poem', 'I need a language model for that'],
      thanks: ['Thanks', 'You are welcome.'],
    },
  ],
  [
    'German',
    {
      greeting: ['Guten Morgen', 'Hallo!'],
      told: ['Ich wohne in Lübeck.', 'Notiert: „Ich wohne in Lübeck.“'],
      another: ['Merk dir, dass meine Schwester in Bonn wohnt', 'Notiert: „meine Schwester in Bonn wohnt“.'],
      asked: ['Wo wohne ich?', 'Lübeck', 'Bonn'],
      unknown: ['Welche Farbe hat mein Auto?', 'Darüber weiß ich nichts'],
      reminder: ['Erinnere mich morgen um 9 Uhr daran, Ruth anzurufen', 'Ich erinnere dich am'],
      reminders: ['Meine Erinnerungen', '„Ruth anzurufen“'],
      sum: ['Wie viel ist 7 mal 1,5?', '= 10,5'],
      clock: ['Wie spät ist es?', /Es ist \S+, \d+\. \S+ \d{4} um \d\d:\d\d/],
      notes: ['Zeig mir meine Notizen', 'Deine neuesten Notizen:'],
      connect: ['Wie verbinde ich ein Modell?', 'Um ein Modell zu verbinden'],
      poem: ['Schreib mir ein Gedicht', 'Dafür brauche ich ein Sprachmodell'],
      thanks: ['Vielen Dank!', 'Gern geschehen.'],
    },
  ],
  [
    'Spanish',
    {
      greeting: ['¡Buenos días!', '¡Hola!'],
      told: ['Vivo en Sevilla.', 'Anotado: «Vivo en Sevilla.»'],
      another: ['Recuerda que mi hermana vive en Bilbao', 'Anotado: «mi hermana vive en Bilbao».'],
      asked: ['¿Dónde vivo?', 'Sevilla', 'Bilbao'],
      unknown: ['¿De qué color es mi coche?', 'No sé nada de eso'],
      reminder: ['Recuérdame mañana a las 9 llamar a Ruth', 'Te lo recordaré el'],
      reminders: ['Mis recordatorios', '«llamar a Ruth»'],
      sum: ['¿Cuánto es 12 por 3?', '= 36'],
      clock: ['¿Qué hora es?', /Ahora es \S+, \d+ de \S+ de \d{4}/],
      notes: ['Muéstrame mis notas', 'Tus notas más recientes:'],
      connect: ['¿Cómo conecto un modelo?', 'Para conectar un modelo'],
      poem: ['Escribe un poema', 'Para eso necesito un modelo de lenguaje'],
      thanks: ['Muchas gracias', 'De nada.'],
    },
  ],
  [
    'French',
    {
      greeting: ['Bonjour !', 'Bonjour !'],
      told: ['J’habite à Lyon.', 'C’est noté : «J’habite à Lyon.»'],
      another: ['Retiens que ma sœur habite à Nantes', 'C’est noté : «ma sœur habite à Nantes».'],
      asked: ['Où est-ce que j’habite ?', 'Lyon', 'Nantes'],
      unknown: ['De quelle couleur est ma voiture ?', 'Je ne sais rien à ce sujet'],
      reminder: ['Rappelle-moi demain à 9 h d’appeler Ruth', 'Je te le rappellerai le'],
      reminders: ['Mes rappels', '«appeler Ruth»'],
      sum: ['Combien font 12 fois 3 ?', '= 36'],
      clock: ['Quelle heure est-il ?', /Nous sommes le \S+ \d+ \S+ \d{4} à \d\d:\d\d/],
      notes: ['Montre-moi mes notes', 'Tes notes les plus récentes'],
      connect: ['Comment connecter un modèle ?', 'Pour connecter un modèle'],
      poem: ['Écris un poème', 'j’ai besoin d’un modèle de langage'],
      thanks: ['Merci beaucoup', 'Je t’en prie.'],
    },
  ],
  [
    'Chinese',
    {
      greeting: ['早上好', '你好！'],
      told: ['我住在上海。', '已记下：“我住在上海。”'],
      another: ['记住我妹妹住在北京', '已记下：“我妹妹住在北京”。'],
      asked: ['我住在哪里？', '上海', '北京'],
      unknown: ['我的车是什么颜色？', '这件事我不知道'],
      reminder: ['明天上午9点提醒我给露丝打电话', '我会在'],
      reminders: ['我的提醒', '“给露丝打电话”'],
      sum: ['12乘以3等于多少？', '= 36'],
      clock: ['现在几点？', /现在是\d{4}年\d+月\d+日星期. \d\d:\d\d/],
      notes: ['显示我的笔记', '你最新的笔记：'],
      connect: ['怎么连接模型？', '要连接模型'],
      poem: ['写一首诗', '这需要语言模型'],
      thanks: ['谢谢', '不客气。'],
    },
  ],
  [
    'Japanese',
    {
      greeting: ['おはようございます', 'こんにちは！'],
      told: ['私は大阪に住んでいます。', 'メモしました：「私は大阪に住んでいます。」'],
      another: ['妹は東京に住んでいると覚えておいて', 'メモしました：「妹は東京に住んでいる」。'],
      asked: ['私はどこに住んでいますか？', '大阪', '東京'],
      unknown: ['私の車は何色ですか？', '何も知りません'],
      reminder: ['明日の9時にルースに電話するとリマインドして', 'お知らせします'],
      reminders: ['リマインダー一覧', '「ルースに電話する」'],
      sum: ['12かける3は？', '= 36'],
      clock: ['今何時ですか？', /\d{4}年\d+月\d+日.曜日 \d+:\d\d/],
      notes: ['メモを見せて', '最新のメモ：'],
      connect: ['モデルを接続するには？', 'モデルをつなぐには'],
      poem: ['詩を書いてください', '言語モデルが必要です'],
      thanks: ['ありがとうございます', 'どういたしまして。'],
    },
  ],
  [
    'Arabic',
    {
      greeting: ['صباح الخير', 'مرحبا!'],
      told: ['أسكن في دبي.', 'تم الحفظ: «أسكن في دبي.»'],
      another: ['تذكر أن أختي تسكن في القاهرة', 'تم الحفظ: «أختي تسكن في القاهرة».'],
      asked: ['أين أسكن؟', 'دبي', 'القاهرة'],
      unknown: ['ما لون سيارتي؟', 'لا أعرف شيئا عن ذلك'],
      reminder: ['ذكرني غدا الساعة ٩ بالاتصال بروث', 'سأذكّرك في'],
      reminders: ['تذكيراتي', '«بالاتصال بروث»'],
      sum: ['كم يساوي ١٢ ضرب ٣؟', '= 36'],
      clock: ['كم الساعة؟', /الآن \S+، \d+ \S+ \d{4}/],
      notes: ['اعرض ملاحظاتي', 'أحدث ملاحظاتك'],
      connect: ['كيف أوصل نموذجا؟', 'لتوصيل نموذج'],
      poem: ['اكتب قصيدة', 'أحتاج إلى نموذج لغوي'],
      thanks: ['شكرا جزيلا', 'على الرحب والسعة.'],
    },
  ],
]

describe.each(talks)('without a model, in %s', (_, talk) => {
  let familiar: RunningFamiliar
  const say = async (message: string) => (await familiar.chat(message, { session: 'talk' })).reply

  beforeAll(async () => {
    familiar = await startFamiliar()
  })
  afterAll(() => familiar.close())

  it('OFFLINE-5 answers everyday messages in their language', async () => {
    const { greeting, told, another, sum, clock, connect, poem, thanks } = talk
    for (const [said, reply] of [greeting, told, another, sum, connect, poem, thanks]) {
      expect(await say(said), said).toContain(reply)
    }
    expect(await say(clock[0])).toMatch(clock[1])
  })

  it('OFFLINE-5 answers from notes, never with one about another person, and admits what it does not know', async () => {
    const { asked, unknown, notes } = talk
    const [question, answer, never] = asked
    const found = await say(question)
    expect(found).toContain(answer)
    expect(found).not.toContain(never)
    expect(found).toMatch(/\[memory:[\w-]+\]/)
    expect(await say(unknown[0])).toContain(unknown[1])
    const listed = await say(notes[0])
    expect(listed).toContain(notes[1])
    expect(listed).toContain(answer)
  })

  it('OFFLINE-5 sets a reminder at a time in words and lists it', async () => {
    const { reminder, reminders } = talk
    expect(await say(reminder[0])).toContain(reminder[1])
    expect(await say(reminders[0])).toContain(reminders[1])
    const { schedules } = (await (await familiar.request('GET', '/api/v1/schedules')).json()) as {
      schedules: { next_at: string | null }[]
    }
    expect(schedules.map(({ next_at }) => new Date(next_at ?? 0).toTimeString().slice(0, 5))).toEqual(['09:00'])
  })
})
