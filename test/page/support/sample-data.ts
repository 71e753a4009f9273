import type { FakeModel } from '../../support/fake-model/start-fake-model.ts'
import type { RunningFamiliar } from '../../support/running-familiar.ts'
import { said, toolOf } from '../../support/scripted-familiar.ts'
import { fillHome, sampleToml } from './sample-home.ts'

export interface Samples {
  /** The newest conversation, and its turn. */
  session: string
  turn: string
  memory: string
  fact: string
  schedule: string
}

/** A household with something on every screen, made through the API and in the folders of its home. */
export async function fillWithSamples(familiar: RunningFamiliar, fake: FakeModel): Promise<Samples> {
  const send = async (method: string, path: string, body: object) => {
    const response = await familiar.request(method, `/api/v1${path}`, body)
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as { id: string; memory: { id: string }; fact: { id: string } }
  }
  const kept: string[] = []
  for (const [content, tags] of memories) {
    kept.push((await send('POST', '/memories', { content, tags: [...tags] })).memory.id)
  }
  for (const [from, to, relation] of edges) {
    await send('POST', '/memories/edges', { source_id: kept[from], target_id: kept[to], relation, weight: 0.8 })
  }
  let fact = ''
  for (const [entity, attribute, value] of facts) {
    fact = (await send('POST', '/memories/facts', { entity, attribute, value })).fact.id
  }
  for (const commitment of commitments) await send('POST', '/memories/commitments', commitment)
  for (const [label, content] of blocks) await send('PUT', `/blocks/${label}`, { content })
  await send('POST', '/pins', { label: 'household.md' })
  const { id: schedule } = await send('POST', '/schedules', {
    cron: '0 8 * * 1',
    message: 'Say what is planned this week.',
  })
  await fillHome(familiar)
  await send('POST', '/schedules', { at: 'tomorrow at 9:00', message: 'Remind me to call the dentist.' })

  fake.reply({ text: 'Seven days: Ghent, Bruges, then the coast. I keep the list in *travel*.' })
  await familiar.chat('Where do we go in May?', { session: 'May holidays' })
  fake.reply({ text: 'Thyme, roses and two rows of beans.' })
  await familiar.chat('What did I plant last year?', { session: 'The garden' })
  fake.reply([
    {
      thinking: { text: 'They ask for the train. The tool knows.' },
      toolCalls: [{ name: 'trains', input: { to: 'Ghent' } }],
    },
    { text: trainReply },
  ])
  const { session_id, turn_id } = await familiar.chat('Is my train to Ghent on time, and what shall I take along?', {
    session: 'Trains',
  })
  return { session: session_id, turn: turn_id, memory: kept[0] ?? '', fact, schedule }
}

const sampleTools = [
  toolOf('trains', async () => ({
    ...said('17:42 to Ghent, 12 minutes late, platform 4.'),
    card: {
      title: 'Trains to Ghent',
      html: '<table><tr><th>Leaves</th><th>Platform</th><th></th></tr><tr><td>17:42</td><td>4</td><td>12 minutes late</td></tr><tr><td>18:12</td><td>4</td><td>on time</td></tr></table>',
      text: 'Trains to Ghent\n17:42  platform 4  12 minutes late\n18:12  platform 4  on time',
      accentColor: null,
      backgroundColor: null,
      icon: null,
    },
  })),
]

/** For the daemon of the samples. */
export const sampleOptions = {
  toml: sampleToml,
  daemon: { extraTools: sampleTools, env: { FAMILIAR_SANDBOX: 'embedded' } },
}

const trainReply = `The **17:42** is 12 minutes late, from platform 4. That is enough for a coffee.

Take along:

1. the tickets, in the drawer beside the door
2. an umbrella: rain from six on
3. the book that you lent from Lien`

const edges = [
  [1, 3, 'same place'],
  [0, 2, 'same person'],
  [2, 4, 'same person'],
  [0, 4, 'same person'],
] as const

const memories = [
  ['Anna is allergic to shellfish.', ['health']],
  ['The tickets for the concert are in the drawer beside the door.', ['home']],
  ['Lien lent Anna a book on bees; it goes back in June.', ['people', 'books']],
  ['The boiler was serviced in October by the firm Peeters.', ['home']],
  ['Anna likes the early train, for it is quiet.', ['travel']],
] as const

const facts = [
  ['user', 'city', 'Antwerp'],
  ['user', 'diet', 'no shellfish'],
  ['Lien', 'birthday', '14 June'],
  ['boiler', 'service', 'every October, by Peeters'],
] as const

const commitments = [
  { what: 'Give the book on bees back', to_whom: 'Lien', deadline: '2027-06-01' },
  { what: 'Renew the passport', deadline: '2027-03-01' },
]

const blocks = [
  ['household.md', '# Household\n\n- Bins on Thursday\n- The boiler is serviced in October\n'],
  ['travel.md', '# Travel\n\nSeven days in May: **Ghent**, Bruges, the coast.\n'],
] as const
