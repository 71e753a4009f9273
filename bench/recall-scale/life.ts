import { type SeededRandom, seededRandom } from './seeded-random.ts'
import { createVocabulary } from './vocabulary.ts'

/** One line of a long life in conversations. */
export interface Line {
  content: string
  speaker: string
  thread: number
  position: number
  at: number
}

export interface Question {
  text: string
  /** The line that answers it. */
  answer: number
}

/** Any line, and a question about any line, by its number alone: nothing has to be kept. */
export interface Life {
  line(index: number): Line
  question(index: number): Question
}

const linesPerThread = 20
const lastDay = Date.UTC(2026, 9, 31)
const day = 86_400_000

/**
 * A user's conversations with friends, about 130 characters a line. A thread of twenty lines has its people, its place
 * and its topics, which recur; most lines say who did something, where, when and with what.
 */
export function createLife({ seed, lines }: { seed: number; lines: number }): Life {
  const vocabulary = createVocabulary(seed)
  const threads = Math.ceil(lines / linesPerThread)

  function threadOf(index: number) {
    const thread = Math.floor(index / linesPerThread)
    const random = seededRandom(seed, 1, thread)
    return {
      thread,
      friend: vocabulary.person(random),
      others: [vocabulary.person(random), vocabulary.person(random)],
      places: [vocabulary.place(random), vocabulary.place(random)],
      topics: Array.from({ length: 8 }, () => vocabulary.word(random)),
      at: lastDay - Math.floor(((threads - thread) / threads) * 10 * 365) * day + random.below(day),
    }
  }

  function eventOf(index: number) {
    const thread = threadOf(index)
    const random = seededRandom(seed, 2, index)
    const when = new Date(thread.at - random.below(60) * day)
    return {
      thread,
      random,
      who: random.chance(0.5) ? thread.friend : random.pick(thread.others),
      where: random.pick(thread.places),
      activity: random.pick(activities),
      thing: `${vocabulary.word(random)} ${random.pick(things)}`,
      topic: random.pick(thread.topics),
      otherTopic: random.pick(thread.topics),
      date: `${when.getUTCDate()} ${months[when.getUTCMonth()]}`,
    }
  }

  const filler = (random: SeededRandom) =>
    `${vocabulary.word(random)} ${random.pick(joints)} ${vocabulary.word(random)}`

  return {
    line(index) {
      const event = eventOf(index)
      const { thread, random } = event
      const position = index % linesPerThread
      return {
        content: random.pick(tellings)(event, () => filler(random)),
        speaker: position % 2 === 0 ? 'user' : thread.friend,
        thread: thread.thread,
        position,
        at: thread.at + position * 60_000,
      }
    },
    question(index) {
      const event = eventOf(index)
      const random = seededRandom(seed, 3, index)
      return { text: random.pick(askings)(event, vocabulary.word(random)), answer: index }
    },
  }
}

type Event = Record<'who' | 'where' | 'activity' | 'thing' | 'topic' | 'otherTopic' | 'date', string>

const tellings: ((event: Event, filler: () => string) => string)[] = [
  ({ who, where, activity, thing, topic, date }, filler) =>
    `${who} and I tried ${activity} near ${where} on ${date}; the ${thing} was all about ${topic}, ${filler()}.`,
  ({ who, where, activity, thing, topic, otherTopic }, filler) =>
    `I was thinking of ${topic} when ${who} told me about ${activity} in ${where} with a ${thing}, so much ${otherTopic} and ${filler()}!`,
  ({ who, activity, thing, topic, date }, filler) =>
    `On ${date} ${who} gave me a ${thing} for ${activity}. It reminds me of ${topic}: ${filler()}, then ${filler()}.`,
  ({ where, activity, thing, topic, otherTopic }, filler) =>
    `We left the ${thing} in ${where} after ${activity}, which was ${topic} and a bit ${otherTopic}, but ${filler()}.`,
  ({ who, thing, topic, otherTopic }, filler) =>
    `Did I tell you that ${who} lost the ${thing}? Since then it is only ${topic} and ${otherTopic}, ${filler()}, ${filler()}.`,
]

const askings: ((event: Event, word: string) => string)[] = [
  ({ who, where, activity, thing }) => `When did ${who} go ${activity} near ${where} with the ${thing}?`,
  ({ who, activity, thing, topic }, word) =>
    `What happened with the ${thing} and ${topic} when ${who} was ${activity}, that ${word} day?`,
  ({ who, thing, topic, otherTopic }) =>
    `Do you remember ${who}, the ${thing}, and what we said about ${topic} and ${otherTopic}?`,
  ({ where, activity, thing }, word) => `Where in ${where} did we find the ${word} ${thing} after ${activity}?`,
]

const activities =
  `kayaking baking climbing painting sailing gardening knitting fencing camping skating surfing fishing singing
  juggling archery pottery birdwatching stargazing dancing cycling swimming bowling hiking woodworking brewing rowing quilting
  chess yoga karaoke volunteering photography`.split(/\s+/)
const things =
  `lamp bicycle guitar recipe jacket camera notebook tent kettle necklace drone clock mirror blanket violin map
  ladder keyboard telescope sofa bracelet umbrella toolbox poster teapot backpack candle carpet helmet microscope puzzle vase`.split(
    /\s+/,
  )
const months = `January February March April May June July August September October November December`.split(' ')
const joints = ['and', 'or', 'with', 'for', 'without', 'over', 'before', 'like a', 'not', 'in the']
