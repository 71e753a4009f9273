import { type Command, InvalidArgumentError, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'

/** Makes one command that runs what is loaded, under the given parent. */
export type DefineCommand = (name: string, description: string, load: LoadHandler, parent?: Command) => Command

const kinds = ['note', 'fact', 'episode', 'commitment', 'chunk']
const tiers = ['short_term', 'long_term']
const id = 'id of a memory'

/** `familiar memory …`, and `familiar forget`, which is the same as `familiar memory forget`. */
export function addMemoryCommands(program: Command, define: DefineCommand): Command {
  const memory = program.command('memory').description('what Familiar remembers').addHelpText('after', examples)
  const add = (name: string, description: string, load: LoadHandler) => define(name, description, load, memory)

  addContentOptions(add('add', 'remember a note, a fact, a commitment or a name', handlers.memoryAdd))
    .argument('[words...]', 'the note (- reads standard input), or what --fact, --commitment and --alias need')
    .option('--fact', 'a fact: ENTITY ATTRIBUTE VALUE; "user" is you')
    .option('--confidence <share>', 'with --fact: how sure, 0 to 1', toShare)
    .option('--multi-valued', 'with --fact: from now on the attribute may have several values at once')
    .option('--commitment', 'what somebody has promised: WHAT')
    .option('--who <name>', 'with --commitment: who promised it (default: you)')
    .option('--to <name>', 'with --commitment: to whom')
    .option('--by <day>', 'with --commitment: until when, such as 2026-11-20')
    .option('--alias', 'another name: ALIAS NAME')
    .addHelpText('after', addExamples)
  add('search', 'find memories, best first', handlers.memorySearch)
    .argument('<words...>', 'the question')
    .addOption(new Option('-k, --kind <kind>', 'only of this kind').choices(kinds))
    .option('-n, --limit <count>', 'how many', toCount, 10)
    .option('--explain', 'say why each was found and where it came from')
    .option('--deep', 'ask in several ways, follow what belongs together and sum up')
    .addOption(
      new Option('--style <style>', 'with --deep: how to sum up').choices(['structured', 'narrative', 'factual']),
    )
    .addHelpText('after', searchExamples)
  add('list', 'list memories, newest first', handlers.memoryList)
    .addOption(new Option('-k, --kind <kind>', 'only of this kind').choices([...kinds, 'alias']))
    .option('-n, --limit <count>', 'how many', toCount, 50)
    .option('--entity <name>', 'facts about somebody or something; with --kind commitment, what they promised')
    .option('--attribute <attribute>', 'facts of this attribute')
    .option('--value <value>', 'facts with this value')
    .option('--history', 'with facts: what was true before, too')
    .option('--count', 'with facts: how many there are that have it')
    .addOption(
      new Option('--state <state>', 'with --kind commitment').choices(['open', 'done', 'expired', 'cancelled']),
    )
    .addHelpText('after', listExamples)
  add('show', 'one memory with all that belongs to it', handlers.memoryShow).argument('<id>', id)
  addContentOptions(add('edit', 'change a memory, by options or in $EDITOR', handlers.memoryEdit), '; "" takes it away')
    .argument('<id>', id)
    .option('--content <text>', 'what it says from now on')
    .option('--by <day>', 'of a commitment: until when; "none" for no deadline')
    .addHelpText('after', editExamples)
  add('done', 'a commitment is kept', handlers.memoryDone)
    .argument('<ids...>', 'ids of commitments')
    .addOption(new Option('--cancel', 'it is called off instead').conflicts('reopen'))
    .option('--reopen', 'it is open again')
  addForget(add('forget', 'forget memories; can be undone for 30 days', handlers.memoryForget))
  addForget(define('forget', 'forget something: the same as memory forget', handlers.memoryForget))
  add('undo', 'undo the newest change, or a certain one', handlers.memoryUndo)
    .argument('[change]', 'id of a change')
    .option('--list', 'list what can be undone')
  add('graph', 'how memories belong together', handlers.memoryGraph)
    .argument('[id]', `${id} to begin at (default: the newest edges)`)
    .option('--depth <steps>', 'how far', toDepth, 2)
    .addOption(new Option('--link <other>', `join it with this one (${id})`).conflicts('unlink'))
    .option('--unlink <other>', 'no longer joined with this one')
    .option('--relation <relation>', 'with --link and --unlink: by what', 'related to')
    .addHelpText('after', graphExamples)
  add('index', 'index a file or folder, or bring the index up to date', handlers.memoryIndex)
    .argument('[path]', 'a file or folder to add')
    .addOption(new Option('--remove <path>', 'take a file or folder out of the index').conflicts('list'))
    .option('--list', 'list what is indexed')
    .addHelpText('after', indexExamples)
  add(
    'consolidate',
    'write facts, episodes and commitments from conversations and files',
    handlers.memoryConsolidate,
  ).option('-s, --session <session>', 'only one session (name or id)')
  add('export', 'write everything as JSON lines or Markdown', handlers.memoryExport)
    .argument('[file]', 'where to (default: standard output)')
    .addOption(new Option('--format <format>', 'of the file').choices(['jsonl', 'markdown']).default('jsonl'))
    .addHelpText('after', exportExamples)
  add('import', 'add what an export, or any list of notes, holds', handlers.memoryImport)
    .argument('<file>', 'the file; - reads standard input')
    .option('--mine', 'they are your own words: trust them like those')
    .option('--folders', 'index the folders that it names, too')
  add('stats', 'how much is remembered, and what goes on in the background', handlers.memoryStats)
  return memory
}

function addContentOptions(command: Command, orNone = ''): Command {
  return command
    .option('--title <title>', `a title${orNone}`)
    .option('--category <category>', `a category${orNone}`)
    .option('-t, --tag <tag>', 'a tag (again for more)', append)
    .addOption(new Option('--tier <tier>', 'how long it matters').choices(tiers))
    .option('--priority <share>', 'how much it matters, 0 to 1', toShare)
}

function addForget(command: Command): Command {
  return command
    .argument('<words...>', 'ids or exact titles; with --everything, about what')
    .option('--everything', 'all that mentions it, in memories and conversations, for good')
    .addOption(new Option('--alias', 'a name instead: ALIAS NAME').conflicts('everything'))
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', forgetExamples)
}

function toShare(text: string): number {
  const share = Number(text)
  if (text.trim() !== '' && share >= 0 && share <= 1) return share
  throw new InvalidArgumentError('It is a number from 0 to 1.')
}

function toCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1) return count
  throw new InvalidArgumentError('It is a whole number from 1 on.')
}

function toDepth(text: string): number {
  const depth = Number(text)
  if (/^[1-5]$/.test(text)) return depth
  throw new InvalidArgumentError('It is a number from 1 to 5.')
}

function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

const examples = `
Examples:
  familiar memory add "The spare key is with Ruth"
  familiar memory search "where is the spare key?"
  familiar memory index ~/notes
  familiar memory stats`

const addExamples = `
Examples:
  familiar memory add "The spare key is with Ruth" --tag home
  familiar memory add --fact Anna birthday "3 May"
  familiar memory add --commitment "send the photos" --to "my sister" --by 2026-11-20
  familiar memory add --alias Bea Beatrice
  familiar memory add - < note.txt`

const searchExamples = `
Examples:
  familiar memory search "when is Anna's birthday?" --explain
  familiar memory search --deep "what did we decide about the kitchen?" --style narrative`

const listExamples = `
Examples:
  familiar memory list --kind fact
  familiar memory list --entity Anna --history
  familiar memory list --attribute profession --value "marine biologist" --count
  familiar memory list --kind commitment --state open`

const editExamples = `
Examples:
  familiar memory edit ID --content "The spare key is with Ben" --priority 0.9
  familiar memory edit ID                     opens it in $EDITOR`

const forgetExamples = `
Examples:
  familiar memory forget ID
  familiar memory forget --everything about "the old flat"
  familiar memory forget --alias Bea Beatrice`

const graphExamples = `
Examples:
  familiar memory graph ID --depth 2
  familiar memory graph ID --link OTHER --relation "sister of"`

const indexExamples = `
Examples:
  familiar memory index ~/notes               Ctrl-C stops it; what is done stays
  familiar memory index                       brings everything up to date
  familiar memory index --remove ~/notes`

const exportExamples = `
Examples:
  familiar memory export memories.jsonl
  familiar memory export --format markdown | less`
