import { type Choices, chosenLabels, listChoices, type OpenChoices } from '../../protocol/choices.ts'
import type { TelegramContact } from './pairing.ts'
import { telegramChannel } from './sender.ts'
import type { Handling, TelegramServices } from './services.ts'
import { markdownPayloads } from './text-payloads.ts'
import { type ChoicePress, choiceData, type Person, shortText } from './updates.ts'

/** The options of a question as buttons. All their state is in their data, so it is the same after a restart. */

type Rows = { text: string; data: string }[][]

/** One row for each option. With `multiple` a press only marks an option, and the last row sends the answer. */
function choiceRows({ id, options, multiple }: OpenChoices, mask = 0): Rows {
  const rows = options.map(({ label }, at) => {
    const bit = 1 << at
    const isChosen = (mask & bit) !== 0
    const data = choiceData({ id, mask: multiple ? mask ^ bit : bit, isDone: !multiple })
    return [{ text: isChosen ? `☑ ${label}` : multiple ? `☐ ${label}` : label, data }]
  })
  return multiple ? [...rows, [{ text: 'Done', data: choiceData({ id, mask, isDone: true }) }]] : rows
}

/** The text with the buttons below its last piece; options with descriptions are listed as well. */
export function choicePayloads(text: string, choices: OpenChoices): ReturnType<typeof markdownPayloads> {
  const isDescribed = choices.options.some(({ description }) => description)
  const payloads = markdownPayloads(isDescribed ? `${text}\n\n${optionLines(choices)}` : text)
  const last = payloads.at(-1)
  if (last) last.buttons = choiceRows(choices)
  return payloads
}

function optionLines(choices: Choices): string {
  return listChoices(choices).split('\n').slice(0, -1).join('\n')
}

type Pressed = { shows: string } | { rows: Rows; says?: string } | { refused: string }

/** A button of an older question, or one that was pressed before, does nothing. */
export async function pressChoice(
  services: TelegramServices,
  { press, contact, from }: { press: ChoicePress; contact: TelegramContact; from: Person },
  handling: Handling,
): Promise<Pressed> {
  const { conversations, users } = services
  const { userId, id } = contact
  const place = { userId, channel: telegramChannel, contact: String(id) }
  const choices = await conversations.openChoices(place)
  if (choices?.id !== press.id) return { refused: shortText('closed', from) }
  if (!press.isDone) return { rows: choiceRows(choices, press.mask) }
  const chosen = choices.options.flatMap((_, at) => ((press.mask & (1 << at)) === 0 ? [] : [at]))
  const text = chosenLabels(choices, chosen)
  if (text === '') return { rows: choiceRows(choices), says: shortText('chooseOne', from) }
  const inbound = {
    ...place,
    sender: users.list().find((user) => user.id === userId)?.name ?? String(id),
    source: telegramChannel,
    text,
    media: [],
    immediate: true,
    metadata: {},
    answers: press.id,
  }
  await conversations.submit(inbound, handling.move)
  return { shows: `✓ ${text}` }
}
