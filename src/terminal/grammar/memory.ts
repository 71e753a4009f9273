import { InvalidArgumentError } from 'commander'
import {
  append,
  type CommandSpec,
  command,
  handlersOf,
  limitOption,
  option,
  toCount,
  toShare,
  toVersion,
  yes,
} from './grammar.ts'

const memory = handlersOf(() => import('../commands/memory.ts'))
const upkeep = handlersOf(() => import('../commands/memory-upkeep.ts'))
const files = handlersOf(() => import('../commands/files.ts'))

const kinds = ['note', 'fact', 'episode', 'commitment', 'chunk']
const id = { '<id>': 'Memory id' }

const contentOptions = (empty = '') => [
  option('--title <title>', `Title${empty}`),
  option('--category <category>', `Category${empty}`),
  option('-t, --tag <tag>', 'Tag (repeat for more)', { parse: append }),
  option('--retention <retention>', 'How long to keep it', {
    choices: ['short_term', 'long_term'],
    old: '--tier <retention>',
  }),
  option('--priority <share>', 'Importance, 0 to 1', { parse: toShare }),
]

function toDepth(text: string): number {
  if (/^[1-5]$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 5.')
}

const forget = command('Forget memories; can be undone for 30 days', upkeep('forgetMemories'), {
  args: { '<words...>': 'Ids, exact titles or words to search for; with --everything, a subject' },
  options: [
    option('--everything', 'Permanently erase everything that mentions it, in memories and conversations'),
    option('--alias', 'Forget another name instead: ALIAS NAME', { conflicts: 'everything' }),
    option('-y, --yes', 'Do not ask; if several match, only forget an exact match'),
  ],
  examples: ['forget the spare key', 'forget --everything about "the old flat"', 'forget --alias Bea Beatrice'],
})

const memoryGroup: CommandSpec = {
  summary: 'Search, add, edit and forget memories',
  aliases: ['mem', 'memories'],
  commands: {
    list: command('List memories, newest first', memory('listMemories'), {
      options: [
        option('-k, --kind <kind>', 'Filter by kind', { choices: [...kinds, 'alias'] }),
        limitOption(50),
        option('--entity <name>', 'Facts about a person or thing; with --kind commitment, who promised'),
        option('--attribute <attribute>', 'Facts with this attribute'),
        option('--value <value>', 'Facts with this value'),
        option('--history', 'With facts: include earlier values'),
        option('--count', 'With facts: print only how many there are'),
        option('--state <state>', 'With --kind commitment: filter by state', {
          choices: ['open', 'done', 'expired', 'cancelled'],
        }),
      ],
      examples: [
        'memory',
        'memory list --entity Anna --history',
        'memory list --attribute profession --value "marine biologist" --count',
        'memory list --kind commitment --state open',
      ],
    }),
    search: command('Search memories, best match first', memory('searchMemories'), {
      args: { '<words...>': 'Question or words' },
      options: [
        option('-k, --kind <kind>', 'Filter by kind', { choices: kinds }),
        limitOption(10),
        option('--explain', 'Show why each one was found and where it came from'),
        option('--deep', 'Search in several ways, follow links and summarize'),
        option('--style <style>', 'With --deep: style of the summary', {
          choices: ['structured', 'narrative', 'factual'],
        }),
      ],
      examples: [
        'memory search "where is the spare key?" --explain',
        'memory search --deep "what did we decide about the kitchen?" --style narrative',
      ],
    }),
    show: command('Show one memory with its source, links and changes', memory('showMemory'), {
      args: id,
      examples: ['memory show 0199a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b'],
    }),
    add: command('Add a note, a fact, a commitment or a name', memory('addMemory'), {
      args: { '[words...]': 'The note (- reads standard input), or the words for --fact, --commitment or --alias' },
      options: [
        ...contentOptions(),
        option('--fact', 'A fact: ENTITY ATTRIBUTE VALUE; "user" is you'),
        option('--confidence <share>', 'With --fact: how certain, 0 to 1', { parse: toShare }),
        option('--multi-valued', 'With --fact: let the attribute have several values at once'),
        option('--commitment', 'A promise: WHAT'),
        option('--who <name>', 'With --commitment: who promised it (default: you)'),
        option('--to <name>', 'With --commitment: to whom'),
        option('--by <day>', 'With --commitment: deadline, such as 2026-11-20'),
        option('--alias', 'Another name: ALIAS NAME'),
      ],
      examples: [
        'memory add "The spare key is with Ruth" --tag home',
        'memory add --fact Anna birthday "3 May"',
        'memory add --commitment "send the photos" --to "my sister" --by 2026-11-20',
        'memory add --alias Bea Beatrice',
        'memory add - < note.txt',
      ],
      createsHome: true,
    }),
    edit: command('Change a memory, with options or in $EDITOR', memory('editMemory'), {
      args: id,
      options: [
        ...contentOptions('; "" removes it'),
        option('--content <text>', 'New text'),
        option('--by <day>', 'New deadline of a commitment; "none" removes it'),
      ],
      examples: [
        'memory edit 0199a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b',
        'memory edit 0199a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b --content "The spare key is with Ben"',
      ],
    }),
    done: command('Mark a commitment as done', memory('closeCommitments'), {
      args: { '<ids...>': 'Ids of commitments' },
      options: [
        option('--cancel', 'Mark it as canceled instead', { conflicts: 'reopen' }),
        option('--reopen', 'Mark it as open again'),
      ],
      examples: ['memory done 0199a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b'],
    }),
    forget: { ...forget, aliases: ['remove', 'rm'], examples: (forget.examples ?? []).map((one) => `memory ${one}`) },
    undo: command('Undo the latest change, or a given one', upkeep('undoChange'), {
      args: { '[change]': 'Id of a change' },
      options: [option('--list', 'List changes that can be undone')],
      examples: ['memory undo --list', 'memory undo'],
    }),
    graph: command('Show links between memories', upkeep('showGraph'), {
      args: { '[id]': 'Memory id to start from (default: the newest links)' },
      options: [
        option('--depth <steps>', 'How many steps to follow', { parse: toDepth, default: 2 }),
        option('--link <other>', 'Link it to this memory id', { conflicts: 'unlink' }),
        option('--unlink <other>', 'Remove the link to this memory id'),
        option('--relation <relation>', 'With --link and --unlink: kind of link', { default: 'related to' }),
      ],
      examples: ['memory graph', 'memory graph 0199a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b --depth 3'],
    }),
    index: command('Index a file or folder, or update the index', upkeep('indexFiles'), {
      args: { '[path]': 'File or folder to add' },
      options: [
        option('--remove <path>', 'Remove a file or folder from the index', { conflicts: 'list' }),
        option('--list', 'List what is indexed'),
      ],
      examples: ['memory index ~/notes', 'memory index', 'memory index --remove ~/notes'],
      createsHome: true,
    }),
    consolidate: command('Extract facts, episodes and commitments now', upkeep('consolidate'), {
      session: 'optional',
      examples: ['memory consolidate', 'memory consolidate --session work'],
      notes: 'Without a session, all new conversations and files are read.',
    }),
    export: command('Export all memories as JSON lines or Markdown', upkeep('exportMemories'), {
      args: { '[file]': 'Target file (default: standard output)' },
      options: [option('--format <format>', 'File format', { choices: ['jsonl', 'markdown'], default: 'jsonl' })],
      examples: ['memory export memories.jsonl', 'memory export --format markdown'],
    }),
    import: command('Import an export or a list of notes', upkeep('importMemories'), {
      args: { '<file>': 'File to import; - reads standard input' },
      options: [
        option('--mine', 'You wrote the notes (default for a file)', { conflicts: ['notMine', 'untrusted'] }),
        option('--not-mine', 'Others wrote them: mark them as untrusted', { old: '--untrusted' }),
        option('--folders', 'Also index the folders that the export names'),
      ],
      examples: ['memory import memories.jsonl', 'memory import notes.md --not-mine'],
      createsHome: true,
    }),
    stats: command('Show memory counts and background work', upkeep('showStats'), { examples: ['memory stats'] }),
  },
}

const path = { '<path>': 'Path in the workspace, absolute path, or familiar:///blocks/NAME' }
const etag = option('--etag <etag>', 'Only write if the file still has this version (ETag)')

/** Memory, and the files and notes that Familiar works with. */
export const memoryCommands: Record<string, CommandSpec> = {
  memory: memoryGroup,
  forget: { ...forget, summary: 'Forget memories (the same as memory forget)' },
  files: {
    summary: 'Read and write files of the workspace and shared notes',
    aliases: ['file'],
    commands: {
      list: command('List files in a folder', files('listFiles'), {
        args: { '[path]': 'Folder (default: the workspace); familiar:// lists the notes' },
        examples: ['files', 'files list familiar://'],
      }),
      read: command('Print a file or note, or some lines of it', files('readFile'), {
        args: path,
        options: [
          option('--offset <line>', 'First line', { parse: toCount }),
          option('-n, --limit <lines>', 'Maximum number of lines', { parse: toCount }),
        ],
        examples: ['files read notes/trip.md', 'files read notes/trip.md --offset 100 --limit 20'],
      }),
      write: command('Write a file or note', files('writeFile'), {
        args: path,
        options: [option('--content <text>', 'New content; - reads standard input'), etag],
        examples: [
          'files write notes/trip.md --content "We leave on Tuesday."',
          'files write familiar:///blocks/prefs.md --content "Short answers."',
        ],
        createsHome: true,
      }),
      edit: command('Replace a piece of text', files('editFile'), {
        args: path,
        options: [
          option('--old <text>', 'Text to replace; it must occur once'),
          option('--new <text>', 'Replacement'),
          option('--all', 'Replace every occurrence'),
          etag,
        ],
        examples: ['files edit notes/trip.md --old Tuesday --new Wednesday'],
      }),
      history: command('List the versions of a file or note, newest first', files('showHistory'), {
        args: path,
        examples: ['files history notes/trip.md'],
      }),
      undo: command('Restore the previous version, or a given one', files('undoFile'), {
        args: path,
        options: [option('--to <version>', 'Version number', { parse: toVersion })],
        examples: ['files undo notes/trip.md'],
      }),
    },
  },
}

const daemon = handlersOf(() => import('../commands/daemon.ts'))
const imports = handlersOf(() => import('../commands/import.ts'))

/** Backups, moves, updates and removal. */
export const dataCommands: Record<string, CommandSpec> = {
  reset: command('Archive a session and start a new one', daemon('reset'), {
    session: 'required',
    options: [yes],
    examples: ['reset main', 'reset all --yes'],
    notes: 'Nothing is deleted. "all" archives every session.',
  }),
  backup: command('Copy the database while it is in use', daemon('backup'), {
    args: { '[path]': 'Target file (default: backups/ in the home)' },
    examples: ['backup', 'backup /tmp/familiar.db'],
  }),
  restore: command('Replace the database with a backup', daemon('restore'), {
    args: { '<path>': 'Backup file' },
    options: [yes],
    examples: ['restore /tmp/familiar.db'],
    createsHome: true,
  }),
  migrate: command(
    'Move the database to PostgreSQL, or back',
    handlersOf(() => import('../commands/migrate.ts'))('migrate'),
    {
      options: [
        option('--to <place>', 'Target: postgres://…, a home, or a new file', { required: true }),
        option('--from <place>', 'Source (default: the database in use)'),
      ],
      examples: ['migrate --to postgres://familiar@localhost/familiar', 'migrate --to /tmp/copy.db'],
      createsHome: true,
    },
  ),
  export: command(
    'Export sessions as JSON lines, one file per day',
    handlersOf(() => import('../commands/sessions.ts'))('exportSessions'),
    {
      session: 'optional',
      options: [
        option('--all', 'Every session, including archived ones', { conflicts: 'session' }),
        option('-o, --out <directory>', 'Target folder', { default: 'familiar-export' }),
      ],
      examples: ['export', 'export --session main --out exports', 'export --all'],
    },
  ),
  import: {
    summary: 'Import from another agent (OpenClaw, Hermes)',
    notes:
      'Existing files are never overwritten, no configuration or key is copied, and skills stay off until you enable them.',
    commands: {
      list: command('List earlier imports', imports('listImports'), { examples: ['import'] }),
      openclaw: command('Import an OpenClaw workspace', imports('importOpenclaw'), {
        args: { '<path>': 'Its folder, such as ~/.openclaw' },
        options: [yes],
        examples: ['import openclaw ~/.openclaw'],
        createsHome: true,
      }),
      hermes: command('Import a Hermes home', imports('importHermes'), {
        args: { '<path>': 'Its folder, such as ~/.hermes' },
        options: [yes],
        examples: ['import hermes ~/.hermes --yes'],
        createsHome: true,
      }),
      undo: command('Remove the files that an import added', imports('undoImportRecord'), {
        args: { '<record>': 'Record of the import, in backups/ of the home' },
        examples: ['import undo ~/.familiar/backups/import-20261118-090000.json'],
      }),
    },
  },
  update: command(
    'Update; rolls back automatically on failure',
    handlersOf(() => import('../commands/update.ts'))('update'),
    {
      aliases: ['upgrade'],
      options: [
        option('--check', 'Only check whether there is a newer version'),
        option('--to <version>', 'Version, or path of a tarball'),
        option('--rollback', 'Go back to the version before the last update'),
        option('-y, --yes', 'With --rollback: do not ask for confirmation'),
      ],
      examples: ['update --check', 'update', 'update --rollback'],
      notes: `The new version is installed beside the old one and tried on a copy of the home. Then the daemon is stopped, the
database is copied to backups/, and the program is replaced. If the new version does not answer, both are restored.

--rollback restores the previous version. If the tables have changed since, it also restores the database from before
the update and keeps the current one under another name, which it prints.`,
      createsHome: true,
    },
  ),
  uninstall: command('Stop Familiar and remove its service; data is kept', daemon('uninstall'), {
    options: [
      option('--data', 'Also delete the home with all conversations and memories', { old: '--delete-data' }),
      yes,
    ],
    examples: ['uninstall', 'uninstall --data'],
    createsHome: true,
  }),
}
