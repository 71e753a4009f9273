import {
  type CommandSpec,
  handlersOf,
  limitOption,
  option,
  scopeOption,
  sessionOption,
  toPort,
  yes,
} from './grammar.ts'

const daemon = handlersOf(() => import('../commands/daemon.ts'))
const sessions = handlersOf(() => import('../commands/sessions.ts'))
const service = handlersOf(() => import('../commands/service.ts'))
const config = handlersOf(() => import('../commands/config.ts'))
const models = handlersOf(() => import('../commands/models.ts'))

const listenOptions = [
  option('-p, --port <port>', 'Port to listen on (or FAMILIAR_PORT; default: 8100)', { parse: toPort }),
  option('--host <address>', 'Address to listen on (default: 127.0.0.1)'),
]
const force = (text: string) => option('--force', text)
const key = { '<key>': 'Key in familiar.toml, such as budget.per_day_usd' }

/** Starting, stopping and configuring Familiar. */
export const runCommands: Record<string, CommandSpec> = {
  start: {
    summary: 'Start Familiar and, in a terminal, open a chat (npm start)',
    run: handlersOf(() => import('../start.ts'))('start'),
    options: [...listenOptions, sessionOption, option('--plain', 'Chat line by line, without a full screen')],
    examples: ['start', 'start --port 8101'],
    createsHome: true,
  },
  serve: {
    summary: 'Run in the foreground until stopped',
    run: handlersOf(() => import('../serve.ts'))('serve'),
    options: [
      ...listenOptions,
      option('--role <role>', 'Role of this process if several share a PostgreSQL database (default: all)', {
        choices: ['api', 'worker', 'all'],
      }),
    ],
    examples: ['serve', 'serve --host 0.0.0.0 --port 8101'],
    createsHome: true,
  },
  stop: {
    summary: 'Stop the running Familiar',
    run: daemon('stop'),
    args: { '[session]': '' },
    examples: ['stop'],
    createsHome: true,
  },
  restart: { summary: 'Restart the background service', run: daemon('restart'), examples: ['restart'] },
  reload: { summary: 'Read the configuration files again', run: daemon('reload'), examples: ['reload'] },
  open: {
    summary: 'Open the web page in your browser, signed in',
    run: daemon('openPage'),
    options: [option('--user <name>', 'Sign in as this user (default: you)')],
    examples: ['open'],
  },
  'sign-in': {
    summary: 'Print a one-time link that signs a browser in',
    run: daemon('printSignInLink'),
    options: [option('--user <name>', 'Sign in as this user (default: you)')],
    examples: ['sign-in'],
  },
  setup: {
    summary: 'Choose a model and write the configuration',
    run: handlersOf(() => import('../setup.ts'))('setup'),
    examples: ['setup'],
    createsHome: true,
  },
  models: {
    summary: 'List, test and choose models',
    aliases: ['model'],
    commands: {
      list: {
        summary: 'List models and which task each one is used for',
        aliases: ['ls'],
        run: models('listModels'),
        examples: ['models', 'models list --json'],
      },
      test: {
        summary: 'Send a short request to a model (costs a few tokens)',
        run: models('testModel'),
        args: { '[model]': 'Model as PROVIDER/NAME (default: the one that answers)' },
        examples: ['models test', 'models test offline/offline'],
      },
      use: {
        summary: 'Choose the model that answers',
        run: models('useModel'),
        args: { '<model>': 'Model as PROVIDER/NAME' },
        examples: ['models use offline/offline'],
      },
      install: {
        summary: 'Install a package for another model provider',
        run: models('installPackage'),
        args: { '<package>': 'Such as @ai-sdk/mistral; the tested version is installed' },
        examples: ['models install @ai-sdk/mistral'],
        notes: 'Then write providers.d/NAME.toml with type = "ai-sdk" and package = "@ai-sdk/mistral".',
      },
    },
  },
  config: {
    summary: 'Read and change the configuration',
    aliases: ['settings'],
    commands: {
      list: {
        summary: 'Print the keys that are set',
        aliases: ['ls'],
        run: config('listConfig'),
        examples: ['config', 'config list --json'],
      },
      get: {
        summary: 'Print the value of a key, of a table, or all of them',
        run: config('getConfig'),
        args: { '[key]': key['<key>'] },
        examples: ['config get budget.per_day_usd', 'config get budget', 'config get'],
      },
      set: {
        summary: 'Set a key in familiar.toml and apply it',
        run: config('setConfig'),
        args: { ...key, '<value>': 'New value: text, a number, true, false or a TOML list' },
        examples: ['config set budget.per_day_usd 5'],
        notes: 'Comments and order of the file are kept. A value that the configuration does not allow is not written.',
        createsHome: true,
      },
      edit: {
        summary: 'Open familiar.toml in $EDITOR and check it',
        run: config('editConfig'),
        examples: ['config edit'],
      },
      path: { summary: 'Print the path of familiar.toml', run: config('printPath'), examples: ['config path'] },
    },
  },
  doctor: {
    summary: 'Diagnose problems and suggest fixes',
    run: handlersOf(() => import('../commands/doctor.ts'))('doctor'),
    options: [option('--network', 'Also send a request to the model providers')],
    examples: ['doctor', 'doctor --network'],
    createsHome: true,
  },
  service: {
    summary: 'Run Familiar in the background, from login on',
    aliases: ['services'],
    notes: 'API keys of your shell are not passed on to the service: put them into .env in the home.',
    commands: {
      status: {
        summary: 'Show whether the service is installed and running',
        aliases: ['list', 'ls'],
        run: service('showService'),
        examples: ['service status'],
        createsHome: true,
      },
      install: {
        summary: 'Install the service for this user and start it',
        run: service('installService'),
        options: [
          option('--dry-run', 'Print the service file and its path, and change nothing'),
          force('Also replace a file that Familiar did not write'),
        ],
        examples: ['service install --dry-run', 'service install'],
        createsHome: true,
      },
      restart: { summary: 'Restart the service', run: service('restartService'), examples: ['service restart'] },
      logs: {
        summary: 'Print the log of the service',
        aliases: ['log'],
        run: service('serviceLogs'),
        options: [
          option('-f, --follow', 'Keep printing new lines'),
          limitOption(100, { text: 'Maximum number of lines', old: '--lines <count>' }),
        ],
        examples: ['service logs --follow', 'service logs -n 20'],
      },
      uninstall: {
        summary: 'Stop the service and remove its file; data is kept',
        aliases: ['remove', 'rm'],
        run: service('uninstallService'),
        options: [force('Also remove a file that Familiar did not write')],
        examples: ['service uninstall'],
        createsHome: true,
      },
    },
  },
  status: {
    summary: 'Show the daemon, the model and the cost of today',
    run: daemon('status'),
    examples: ['status', 'status --json'],
  },
  monitor: {
    summary: 'Show what Familiar is doing right now',
    run: daemon('monitor'),
    options: [option('-w, --watch', 'Keep showing it until Ctrl-C')],
    examples: ['monitor --watch'],
  },
  cost: {
    summary: 'Show what the models cost',
    aliases: ['costs'],
    run: sessions('cost'),
    options: [
      option('--period <period>', 'Time span', { choices: ['today', 'week', 'month', 'all'], default: 'today' }),
    ],
    examples: ['cost --period month'],
  },
}

const users = handlersOf(() => import('../commands/users.ts'))
const tokens = handlersOf(() => import('../commands/tokens.ts'))
const telegram = handlersOf(() => import('../commands/telegram.ts'))
const secrets = handlersOf(() => import('../commands/secrets.ts'))

const user = { '<name>': 'User name' }
const plan = 'Plan of the configuration, such as guest'

/** Users, tokens and sign-in. These commands only work on the machine itself. */
export const accessCommands: Record<string, CommandSpec> = {
  users: {
    summary: 'Manage other users and their permissions',
    aliases: ['user'],
    commands: {
      list: { summary: 'List users and their plans', aliases: ['ls'], run: users('listUsers'), examples: ['users'] },
      add: {
        summary: 'Add a user and print their token once',
        run: users('addUser'),
        args: { '<name>': 'Letters, digits, "-" and "_"' },
        options: [option('--plan <plan>', `${plan} (default: guest)`, { old: '--tier <plan>' }), scopeOption('chat')],
        examples: ['users add ada', 'users add ben --plan guest'],
        createsHome: true,
      },
      plan: {
        summary: 'Change the plan of a user',
        old: ['tier'],
        run: users('setPlan'),
        args: { ...user, '<plan>': plan },
        examples: ['users plan ada guest'],
      },
      rotate: {
        summary: 'Replace all tokens of a user with a new one',
        run: users('rotateUser'),
        args: user,
        examples: ['users rotate ada'],
      },
      remove: {
        summary: 'Export the data of a user, then delete the user',
        aliases: ['rm'],
        run: users('removeUser'),
        args: user,
        options: [option('-o, --out <directory>', 'Export folder (default: familiar-export-NAME)'), yes],
        examples: ['users remove ada', 'users remove ada --out exports/ada --yes'],
      },
    },
  },
  tokens: {
    summary: 'Manage tokens for the HTTP API and MCP',
    aliases: ['token'],
    commands: {
      list: {
        summary: 'List tokens (the tokens themselves are never shown)',
        aliases: ['ls'],
        run: tokens('listTokens'),
        options: [option('--user <name>', 'Only tokens of this user')],
        examples: ['tokens', 'tokens list --user ada'],
      },
      create: {
        summary: 'Create a token and print it once',
        aliases: ['add'],
        run: tokens('createToken'),
        options: [scopeOption('chat'), option('--user <name>', 'Owner of the token (default: you)')],
        examples: ['tokens create --scope read'],
        createsHome: true,
      },
      rotate: {
        summary: 'Replace your token; the old one stops working at once',
        run: tokens('rotateToken'),
        options: [yes],
        examples: ['tokens rotate'],
        createsHome: true,
      },
      remove: {
        summary: 'Revoke a token at once',
        aliases: ['rm'],
        old: ['revoke'],
        run: tokens('revokeToken'),
        args: { '<id>': 'Token id, as "familiar tokens" prints it' },
        examples: ['tokens remove 0199a1b2'],
      },
    },
  },
  telegram: {
    summary: 'Manage Telegram contacts',
    commands: {
      list: {
        summary: 'List Telegram contacts and the user each one is',
        aliases: ['ls', 'contacts'],
        run: telegram('listContacts'),
        examples: ['telegram', 'telegram list --json'],
      },
      status: {
        summary: 'Show whether Telegram is connected',
        run: telegram('showStatus'),
        examples: ['telegram status'],
      },
      pair: {
        summary: 'Create a pairing code (single use, valid for 10 minutes)',
        run: telegram('pair'),
        options: [option('--user <name>', 'User for the contact (default: the owner)')],
        examples: ['telegram pair', 'telegram pair --user ada'],
        notes: 'Send the code to the bot as: /pair CODE',
      },
      remove: {
        summary: 'Block a Telegram contact',
        aliases: ['rm'],
        old: ['unpair'],
        run: telegram('unpair'),
        args: { '<id>': 'Numeric Telegram user id' },
        examples: ['telegram remove 123456789'],
      },
    },
  },
  secrets: {
    summary: 'Manage stored secrets (values are never shown)',
    aliases: ['secret'],
    notes: 'A tool gets its secrets with "familiar tools config NAME KEY".',
    commands: {
      list: {
        summary: 'List the names of stored secrets',
        aliases: ['ls'],
        run: secrets('listSecrets'),
        examples: ['secrets'],
      },
      rotate: {
        summary: 'Encrypt all secrets with a new key',
        old: ['rotate-key'],
        run: secrets('rotateKey'),
        options: [option('--discard-lost', 'Delete secrets that cannot be decrypted')],
        examples: ['secrets rotate'],
      },
    },
  },
}
