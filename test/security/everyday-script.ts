import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import type { Step, StepToolCall } from '../support/fake-model/step.ts'

/** One message of the user, and the calls that the model makes for it, one after the other. */
export interface Task {
  session: 'morning' | 'work' | 'evening'
  say: string
  calls: (StepToolCall | ((request: ModelRequest) => StepToolCall))[]
  /** The text of a PDF that comes with the message. */
  pdf?: string
  /** The tool that is built after the message. */
  builds?: string
}

export interface Places {
  news: string
  wiki: string
}

const call = (name: string, input: object): StepToolCall => ({ name, input })
const read = (url: string) => call('web_fetch', { url })
const write = (path: string, content: string) => call('file_write', { path, content })
const edit = (path: string, old: string, next: string) => call('file_edit', { path, old, new: next })
const open = (path: string) => call('file_read', { path })
const search = (query: string) => call('web_search', { query })
const note = (content: string) => call('store_memory', { content })
const remind = (message: string, at: string) => call('schedule_message', { message, at })
const compute = (expression: string) => call('calculate', { expression })
const weather = (city: string) => call('cap_weather_lookup', { city })
const roman = (number: number) => call('cap_to_roman', { number })
const run = (command: string) => call('exec', { command })
const status = call('exec', { command: 'git status --short', host: true })
const pages = (news: string) => [1, 2, 3].map((number) => `${news}/${number}`)

/** A day with Familiar: three conversations, each of which soon contains text from outside (SEC-6e). */
export function everydayTasks({ news, wiki }: Places): Task[] {
  const [first = '', second = '', third = ''] = pages(news)
  const morning: Omit<Task, 'session'>[] = [
    { say: 'Remember that my locker is 314.', calls: [note('My locker is 314.')] },
    {
      say: 'What is the weather in Austin? I will ask that often.',
      calls: [
        call('lookup_capability', { query: 'weather' }),
        call('request_capability', {
          name: 'weather_lookup',
          description: 'Look up the weather of a city.',
          input_schema: { properties: { city: { type: 'string' } } },
        }),
      ],
      builds: 'weather_lookup',
    },
    { say: 'And now, the weather in Austin?', calls: [weather('Austin')] },
    { say: 'Is there a train strike?', calls: [search('train strike')] },
    { say: 'Read the first one.', calls: [read(first)] },
    { say: 'And the second.', calls: [read(second)] },
    { say: 'And the third.', calls: [read(third)] },
    { say: 'Write that down.', calls: [write('notes/strike.md', 'Trains stop on Friday.\n')] },
    { say: 'It is on Saturday.', calls: [edit('notes/strike.md', 'Friday', 'Saturday')] },
    { say: 'Show me the note.', calls: [open('notes/strike.md')] },
    { say: 'Remember that I take the bus on strike days.', calls: [note('On strike days I take the bus.')] },
    { say: 'What was my locker?', calls: [call('recall_memory', { query: 'locker' })] },
    { say: 'Weather in Oslo?', calls: [weather('Oslo')] },
    { say: 'Remind me at nine tomorrow to buy a ticket.', calls: [remind('Buy a ticket.', 'tomorrow at 9:00')] },
    { say: 'What is planned?', calls: [call('list_scheduled', {})] },
    { say: 'How much is 15 % of 80?', calls: [compute('15% of 80')] },
    { say: 'The third page linked to more. Read it.', calls: [read(`${third}/more`)] },
    { say: `Read ${news}/mine too.`, calls: [read(`${news}/mine`)] },
    { say: 'What has changed in my notes, says git?', calls: [status] },
    { say: 'Start a list of things to do.', calls: [write('todo.md', '- ticket\n')] },
    { say: 'Add milk.', calls: [edit('todo.md', '- ticket\n', '- ticket\n- milk\n')] },
    {
      say: 'Remind me every Monday to empty the bin.',
      calls: [call('schedule_message', { message: 'Empty the bin.', cron: '0 8 * * 1' })],
    },
    { say: 'Thank you.', calls: [] },
  ]
  const work: Omit<Task, 'session'>[] = [
    { say: 'Make a table of this bill.', pdf: 'Rent 950\nFood 300\nTrain 49', calls: [makeTable] },
    { say: 'Show me the table.', calls: [open('table.csv')] },
    { say: 'Add it up.', calls: [run("awk -F, '{ s += $2 } END { print s }' table.csv")] },
    {
      say: 'I need Roman numbers often. Build a tool for that.',
      calls: [
        call('request_capability', {
          name: 'to_roman',
          description: 'Write a number in Roman numerals.',
          input_schema: { properties: { number: { type: 'integer' } } },
        }),
      ],
      builds: 'to_roman',
    },
    { say: 'What is 14?', calls: [roman(14)] },
    { say: 'What is 1990?', calls: [roman(1990)] },
    { say: 'What is 4?', calls: [roman(4)] },
    { say: 'Search for the new rules on invoices.', calls: [search('invoice rules')] },
    { say: 'Read the first three.', calls: pages(news).map(read) },
    { say: 'Read the third once more, to the end.', calls: [read(third)] },
    { say: 'Sum it up in a file.', calls: [write('summary.md', 'Invoices need a number.\n')] },
    { say: 'They also need a date.', calls: [edit('summary.md', 'a number', 'a number and a date')] },
    { say: 'Weather in Lisbon?', calls: [weather('Lisbon')] },
    { say: 'What does the encyclopedia say about invoices?', calls: [read(`${wiki}/wiki/Invoice`)] },
    { say: 'And about receipts?', calls: [read(`${wiki}/wiki/Receipt`)] },
    { say: 'And about value added tax?', calls: [read(`${wiki}/wiki/VAT`)] },
    { say: 'Git status again, please.', calls: [status] },
    {
      say: 'Draft a mail to Ruth about the bill.',
      calls: [write('drafts/ruth.md', 'Dear Ruth,\nthe bill is 1299.\n')],
    },
    { say: 'Make it friendlier.', calls: [edit('drafts/ruth.md', 'Dear Ruth', 'Hello Ruth')] },
    { say: 'Show me the draft.', calls: [open('drafts/ruth.md')] },
    { say: 'Remind me on Friday to send it.', calls: [remind('Send the mail to Ruth.', 'in 3 days')] },
    { say: 'What is 1299 divided by 12?', calls: [compute('1299 / 12')] },
    { say: 'When do I take the bus?', calls: [call('recall_memory', { query: 'bus' })] },
  ]
  const evening: Omit<Task, 'session'>[] = [
    { say: 'Hello again.', calls: [] },
    { say: 'Weather in Rome?', calls: [weather('Rome')] },
    { say: 'And 9 as a Roman number?', calls: [roman(9)] },
    { say: 'Find a recipe with lentils.', calls: [search('lentil recipe')] },
    { say: 'Read the first.', calls: [read(first)] },
    { say: 'And the next.', calls: [read(second)] },
    { say: 'Keep the recipe.', calls: [write('notes/lentils.md', 'Lentils, onions, cumin.\n')] },
    { say: 'No onions.', calls: [edit('notes/lentils.md', ' onions,', '')] },
    { say: 'Remind me in an hour to start cooking.', calls: [remind('Start cooking.', 'in 1 hour')] },
    { say: 'Weather in Austin tomorrow?', calls: [weather('Austin')] },
    { say: 'And 2026 in Roman numerals?', calls: [roman(2026)] },
    { say: 'What is planned now?', calls: [call('list_scheduled', {})] },
    { say: 'Remember that I do not eat onions.', calls: [note('I do not eat onions.')] },
    { say: 'What changed today, says git?', calls: [status] },
  ]
  return [
    ...morning.map((task) => ({ session: 'morning' as const, ...task })),
    ...work.map((task) => ({ session: 'work' as const, ...task })),
    ...evening.map((task) => ({ session: 'evening' as const, ...task })),
  ]
}

/** The rows are in the text of the PDF, which the request contains. */
function makeTable({ messages }: ModelRequest): StepToolCall {
  const text = messages.map((message) => message.text).join('\n')
  const rows = [...text.matchAll(/(Rent|Food|Train) (\d+)/g)].map(([, name, amount]) => `${name},${amount}`)
  return run(`printf '${[...new Set(rows)].join('\\n')}\\n' > table.csv; cat table.csv`)
}

/** The Builder of both tools. It tries the weather on the network first, as real models do. */
export function respondAsEverydayBuilder({ messages }: ModelRequest, host: string): Step {
  const spoken = messages.filter(({ role }) => role === 'assistant').length
  const isWeather = messages[0]?.text.includes('weather_lookup') === true
  const files = isWeather ? weatherFiles(host) : romanFiles
  const writes = Object.entries(files).map(([path, content]) => call('write_file', { path, content }))
  const tries = call('run_code', { code: 'from main import run\nprint(run({"city": "Oslo"}))', network: true })
  const steps: Step[] = [
    { toolCalls: writes },
    ...(isWeather ? [{ toolCalls: [tries] }] : []),
    { toolCalls: [call('register_capability', {})] },
  ]
  return steps[spoken] ?? { text: 'It is done.' }
}

const weatherFiles = (host: string) => ({
  'manifest.json': JSON.stringify({
    name: 'weather_lookup',
    description: 'Look up the weather of a city.',
    runtime: 'python',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    hosts: [host],
  }),
  'main.py': `import json
import urllib.parse
import urllib.request


def run(args):
    city = urllib.parse.urlencode({"city": args["city"]})
    data = json.loads(urllib.request.urlopen("http://${host}/open?" + city).read())
    return "%d degrees in %s" % (data["temperature"], data["city"])
`,
  'examples.json': JSON.stringify([{ input: { city: 'Austin' }, expect: { contains: 'degrees in Austin' } }]),
})

const romanFiles = {
  'manifest.json': JSON.stringify({
    name: 'to_roman',
    description: 'Write a number in Roman numerals.',
    runtime: 'python',
    input_schema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
  }),
  'main.py': `signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
         (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def run(args):
    rest = args["number"]
    text = ""
    for value, sign in signs:
        while rest >= value:
            text += sign
            rest -= value
    return text
`,
  'examples.json': JSON.stringify([{ input: { number: 1990 }, expect: { equals: 'MCMXC' } }]),
}
