import { append, type CommandSpec, command, handlersOf, limitOption, option, sessionOption, yes } from './grammar.ts'

const sessions = handlersOf(() => import('../commands/sessions.ts'))
const organize = handlersOf(() => import('../commands/organize.ts'))
const daemon = handlersOf(() => import('../commands/daemon.ts'))
const schedules = handlersOf(() => import('../commands/schedules.ts'))
const permissions = handlersOf(() => import('../commands/permissions.ts'))
const outbox = handlersOf(() => import('../commands/outbox.ts'))

const id = { '<id>': 'Request id, or the beginning of it' }
const schedule = { '<schedule>': 'Schedule id, the beginning of it, or its name' }
const item = { '<item>': 'Message id, or the beginning of it' }

const placeOptions = [
  option('--name <name>', 'Name of the schedule'),
  sessionOption,
  option('--time-zone <zone>', 'Time zone, such as Europe/Berlin (default: yours)'),
  option('--catch-up <policy>', 'How to handle missed runs', {
    choices: ['latest', 'all', 'none'],
    default: 'latest',
  }),
]

/** Talking to Familiar: messages, sessions, approvals, and what is sent later or elsewhere. */
export const talkCommands: Record<string, CommandSpec> = {
  chat: command(
    'Chat in the terminal, or line by line through a pipe',
    handlersOf(() => import('../commands/chat.ts'))('startChat'),
    {
      session: 'new',
      options: [
        option('--once', 'Read all of standard input as one message'),
        option('--plain', 'Print line by line, without a full screen'),
      ],
      examples: ['chat', 'chat --session work', 'chat --once < question.txt'],
      createsHome: true,
    },
  ),
  send: command('Send one message and print the reply', handlersOf(() => import('../commands/send.ts'))('send'), {
    args: { '[words...]': 'The message; - reads standard input' },
    options: [
      option('-m, --message <text>', 'The message as one argument'),
      sessionOption,
      option('--from <sender>', 'Sender name, if not you'),
      option('--source <source>', 'Source of the message', { default: 'cli' }),
      option('--profile <profile>', 'Prompt size: full or operational', {
        choices: ['full', 'operational'],
        old: '--tier <profile>',
      }),
      option('-a, --attach <file>', 'Attach a file (repeat for more)', { parse: append }),
      option('--key <key>', 'Idempotency key: sending it twice runs once'),
      option('--no-wait', 'Return as soon as the message is stored'),
    ],
    examples: [
      'send "What is due today?"',
      'send --session work --attach report.pdf "Summarize this"',
      'send - --json < question.txt',
    ],
    createsHome: true,
  }),
  cancel: command('Cancel the running reply in a session', daemon('cancel'), {
    session: 'main',
    examples: ['cancel', 'cancel --session work'],
  }),
  sessions: {
    summary: 'List, rename and archive sessions',
    aliases: ['session'],
    commands: {
      list: command('List sessions', sessions('listSessions'), {
        options: [option('--all', 'Include archived sessions')],
        examples: ['sessions', 'sessions list --all'],
      }),
      rename: command('Set the title of a session', sessions('renameSession'), {
        args: { '<session>': 'Session name or id', '[title...]': 'New title; leave it out to remove the title' },
        examples: ['sessions rename main "Kitchen renovation"'],
      }),
      archive: command('Archive a session; the next message starts a new one', daemon('reset'), {
        session: 'required',
        options: [yes],
        examples: ['sessions archive main', 'sessions archive all --yes'],
        notes:
          'Nothing is deleted: "familiar history ID" still prints an archived session. "all" archives every session.',
      }),
      unarchive: command('Continue archived sessions', organize('unarchiveSession'), {
        args: { '<sessions...>': 'Session ids' },
        examples: ['sessions unarchive 0199a1b2'],
      }),
      move: command('Move sessions to a folder, or out of their folders', organize('moveSessions'), {
        args: { '<sessions...>': 'Session names or ids' },
        options: [option('--to <folder>', 'Folder name; leave it out to move them out of their folders')],
        examples: ['sessions move main --to Travel', 'sessions move main'],
      }),
      delete: command('Delete sessions; can be undone for 30 days', organize('deleteSessions'), {
        aliases: ['remove', 'rm'],
        args: { '<sessions...>': 'Session names or ids' },
        examples: ['sessions delete work'],
        notes:
          'Passages of the session leave memory at once. Facts and notes that came from it stay: see "familiar forget".',
      }),
      deleted: command('List the sessions that can be restored', organize('deletedSessions'), {
        examples: ['sessions deleted'],
      }),
      restore: command('Restore deleted sessions', organize('restoreSessions'), {
        args: { '<sessions...>': 'Session ids' },
        examples: ['sessions restore 0199a1b2'],
      }),
      export: command('Export sessions as one Markdown, JSON or HTML file', organize('exportSessionFile'), {
        args: { '<sessions...>': 'Session names or ids' },
        options: [
          option('--format <format>', 'File format', { choices: ['md', 'json', 'html'], default: 'md' }),
          option('--html', 'The same as --format html: a page that loads and runs nothing'),
          option('-o, --out <file>', 'Target file (default: standard output)'),
        ],
        examples: ['sessions export main', 'sessions export main work --html --out talks.html'],
        notes:
          'The file has the messages, the replies, small pictures and the names of other files. Reasoning, tool calls and memories are left out.',
      }),
    },
  },
  folders: {
    summary: 'Sort conversations into folders',
    aliases: ['folder'],
    commands: {
      list: command('List folders', organize('listFolders'), { examples: ['folders', 'folders list --json'] }),
      add: command('Create a folder', organize('addFolder'), {
        args: { '<name>': 'Name of the folder' },
        examples: ['folders add "Travel plans"'],
      }),
      rename: command('Rename a folder', organize('renameFolder'), {
        args: { '<folder>': 'Folder name or id', '<name>': 'New name' },
        examples: ['folders rename Travel Trips'],
      }),
      remove: command('Remove a folder; its conversations are kept', organize('removeFolder'), {
        args: { '<folder>': 'Folder name or id' },
        examples: ['folders remove Travel'],
      }),
    },
  },
  search: command('Search conversations, memory, files, tools and settings', organize('search'), {
    args: { '<words...>': 'Words that must all match' },
    options: [
      option(
        '--kind <kind>',
        'Only this kind: conversation, message, memory, note, file, tool, schedule or setting (repeat for more)',
        {
          parse: append,
        },
      ),
      limitOption(6),
    ],
    examples: ['search passport', 'search spare key --kind message --kind memory --json'],
  }),
  history: command('Print the messages of a session', sessions('history'), {
    session: 'main',
    options: [option('--full', 'Include tool calls and their results')],
    examples: ['history', 'history --session work --full'],
  }),
  log: command('Print every event of a session', sessions('log'), {
    session: 'main',
    options: [option('-f, --follow', 'Keep printing new events')],
    examples: ['log', 'log work --follow'],
  }),
  context: command('Show what fills the context window of a session', sessions('context'), {
    session: 'main',
    examples: ['context', 'context --session work'],
  }),
  approvals: {
    summary: 'List and answer requests for approval',
    aliases: ['approval'],
    commands: {
      list: command('List pending requests', sessions('listApprovals'), {
        examples: ['approvals', 'approvals list --json'],
      }),
      approve: command('Approve a request: this exact call, once', sessions('approve'), {
        args: id,
        options: [
          option('--scope <scope>', 'How long it is allowed', {
            choices: ['once', 'conversation', 'always'],
            default: 'once',
          }),
        ],
        examples: ['approvals approve 0199a1b2', 'approvals approve 0199a1b2 --scope always'],
      }),
      deny: command('Deny a request', sessions('deny'), { args: id, examples: ['approvals deny 0199a1b2'] }),
    },
  },
  permissions: {
    summary: 'Show, give and revoke standing permissions',
    aliases: ['permission'],
    commands: {
      list: command('List what may be done without asking', permissions('listPermissions'), {
        examples: ['permissions', 'permissions list --json'],
      }),
      allow: command('Let a tool reach a destination without asking', permissions('allow'), {
        args: {
          '<tool>': 'Name of the tool',
          '<destination...>': 'A host, an address, or for exec a command; * at its end allows more words',
        },
        options: [
          option('--effect <effect>', 'The allowed effect (default: reach; for exec: host)', {
            choices: ['reach', 'send', 'host', 'change', 'later'],
          }),
          option('-s, --session <session>', 'Session name or id, to allow it only there'),
          option('--until <date>', 'The last moment at which it applies'),
        ],
        examples: [
          'permissions allow web_fetch example.org',
          'permissions allow exec "git log *"',
          'permissions allow web_fetch example.org --session work --until 2030-01-31',
        ],
      }),
      revoke: command('Revoke a permission', permissions('revoke'), {
        args: { '<id>': 'Permission id, or the beginning of it' },
        examples: ['permissions revoke 0199a1b2'],
      }),
      mode: command('Show or change how often a session asks', permissions('mode'), {
        args: {
          '[mode]': {
            text: 'One of strict, balanced, trusting and default',
            choices: ['strict', 'balanced', 'trusting', 'default'],
          },
        },
        options: [sessionOption],
        examples: ['permissions mode', 'permissions mode trusting --session work'],
      }),
    },
  },
  schedules: {
    summary: 'Manage reminders and recurring messages',
    aliases: ['schedule'],
    commands: {
      list: command('List schedules with their next and last run', schedules('listSchedules'), {
        options: [option('--all', 'Include finished and deleted schedules')],
        examples: ['schedules', 'schedules list --all'],
      }),
      add: command('Send a message to Familiar later, once or repeatedly', schedules('addSchedule'), {
        args: { '<message...>': 'The message' },
        options: [
          option('--at <time>', 'Once: 2026-12-01T09:00, "tomorrow at 9:00", "in 20 minutes"', { conflicts: 'cron' }),
          option('--cron <fields>', 'Repeatedly: five cron fields, or "*/30" for every 30 minutes'),
          ...placeOptions,
        ],
        examples: [
          'schedules add --at "tomorrow at 9:00" Remind me to call Anna',
          'schedules add --cron "0 7 * * 1-5" --name digest Summarize what is due today',
        ],
        createsHome: true,
      }),
      show: command('Show a schedule and its runs', schedules('showSchedule'), {
        args: schedule,
        examples: ['schedules show digest'],
      }),
      run: command('Run a schedule now', schedules('runSchedule'), {
        args: schedule,
        examples: ['schedules run digest'],
      }),
      remove: command('Delete a schedule', schedules('cancelSchedule'), {
        old: ['cancel'],
        args: schedule,
        examples: ['schedules remove digest'],
      }),
      heartbeat: command('Send the text of HEARTBEAT.md at regular intervals', schedules('addHeartbeat'), {
        options: [option('--every <interval>', 'Interval, such as 30m or 2h', { default: '30m' }), ...placeOptions],
        examples: ['schedules heartbeat --every 2h'],
        createsHome: true,
      }),
    },
  },
  outbox: {
    summary: 'List and retry outgoing messages',
    notes: `States:
  pending    waiting to be sent, perhaps again
  sending    being sent
  sent       confirmed by the other side
  unknown    may have arrived: the connection broke before the answer
  failed     not delivered, and not retried automatically
  canceled   not sent, at your request (printed as "cancelled")`,
    commands: {
      list: command('List outgoing messages, newest first', outbox('listOutbox'), {
        options: [
          option('--state <state>', 'Filter by state', {
            choices: ['pending', 'sending', 'sent', 'unknown', 'failed', 'cancelled'],
          }),
          option('--channel <channel>', 'Filter by channel: telegram, callback'),
          limitOption(50),
        ],
        examples: ['outbox', 'outbox list --state failed'],
      }),
      show: command('Show one message in full', outbox('showOutboxItem'), {
        args: item,
        examples: ['outbox show 0199a1b2'],
      }),
      retry: command('Send a message again now', outbox('retryOutboxItem'), {
        args: item,
        examples: ['outbox retry 0199a1b2'],
      }),
      cancel: command('Cancel a message that is waiting', outbox('cancelOutboxItem'), {
        aliases: ['remove', 'rm'],
        args: item,
        examples: ['outbox cancel 0199a1b2'],
      }),
    },
  },
}
