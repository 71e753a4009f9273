import {
  type CommandSpec,
  command,
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
  start: command(
    'Start Familiar and, in a terminal, open a chat (npm start)',
    handlersOf(() => import('../serve.ts'))('start'),
    {
      options: [...listenOptions, sessionOption, option('--plain', 'Chat line by line, without a full screen')],
      examples: ['start', 'start --port 8101'],
      createsHome: true,
    },
  ),
  serve: command('Run in the foreground until stopped', handlersOf(() => import('../serve.ts'))('serve'), {
    options: [
      ...listenOptions,
      option('--role <role>', 'Role of this process if several share a PostgreSQL database (default: all)', {
        choices: ['api', 'worker', 'all'],
      }),
    ],
    examples: ['serve', 'serve --host 0.0.0.0 --port 8101'],
    createsHome: true,
  }),
  stop: command('Stop the running Familiar', daemon('stop'), {
    args: { '[session]': '' },
    examples: ['stop'],
    createsHome: true,
  }),
  restart: command('Restart the background service', daemon('restart'), { examples: ['restart'] }),
  reload: command('Read the configuration files again', daemon('reload'), { examples: ['reload'] }),
  open: command('Open the web page in your browser, signed in', daemon('openPage'), {
    options: [option('--user <name>', 'Sign in as this user (default: you)')],
    examples: ['open'],
  }),
  'sign-in': command('Print a one-time link that signs a browser in', daemon('printSignInLink'), {
    options: [option('--user <name>', 'Sign in as this user (default: you)')],
    examples: ['sign-in'],
  }),
  setup: command(
    'Choose a model and write the configuration',
    handlersOf(() => import('../setup.ts'))('setupHandler'),
    {
      examples: ['setup'],
      createsHome: true,
    },
  ),
  models: {
    summary: 'List, test and choose models',
    aliases: ['model'],
    commands: {
      list: command('List models and which task each one is used for', models('listModels'), {
        examples: ['models', 'models list --json'],
      }),
      test: command('Send a short request to a model (costs a few tokens)', models('testModel'), {
        args: { '[model]': 'Model as PROVIDER/NAME (default: the one that answers)' },
        examples: ['models test', 'models test offline/offline'],
      }),
      use: command('Choose the model that answers', models('useModel'), {
        args: { '<model>': 'Model as PROVIDER/NAME' },
        examples: ['models use offline/offline'],
      }),
      install: command('Install a package for another model provider', models('installPackage'), {
        args: { '<package>': 'Such as @ai-sdk/mistral; the tested version is installed' },
        examples: ['models install @ai-sdk/mistral'],
        notes: 'Then write providers.d/NAME.toml with type = "ai-sdk" and package = "@ai-sdk/mistral".',
      }),
    },
  },
  config: {
    summary: 'Read and change the configuration',
    aliases: ['settings'],
    commands: {
      list: command('Print the keys that are set', config('listConfig'), {
        examples: ['config', 'config list --json'],
      }),
      get: command('Print the value of a key, of a table, or all of them', config('getConfig'), {
        args: { '[key]': key['<key>'] },
        examples: ['config get budget.per_day_usd', 'config get budget', 'config get'],
      }),
      set: command('Set a key in familiar.toml and apply it', config('setConfig'), {
        args: { ...key, '<value>': 'New value: text, a number, true, false or a TOML list' },
        examples: ['config set budget.per_day_usd 5'],
        notes: 'Comments and order of the file are kept. A value that the configuration does not allow is not written.',
        createsHome: true,
      }),
      edit: command('Open familiar.toml in $EDITOR and check it', config('editConfig'), { examples: ['config edit'] }),
      path: command('Print the path of familiar.toml', config('printPath'), { examples: ['config path'] }),
    },
  },
  doctor: command('Diagnose problems and suggest fixes', handlersOf(() => import('../commands/doctor.ts'))('doctor'), {
    options: [option('--network', 'Also send a request to the model providers')],
    examples: ['doctor', 'doctor --network'],
    createsHome: true,
  }),
  service: {
    summary: 'Run Familiar in the background, from login on',
    aliases: ['services'],
    notes: 'API keys of your shell are not passed on to the service: put them into .env in the home.',
    commands: {
      status: command('Show whether the service is installed and running', service('showService'), {
        aliases: ['list', 'ls'],
        examples: ['service status'],
        createsHome: true,
      }),
      install: command('Install the service for this user and start it', service('installService'), {
        options: [
          option('--dry-run', 'Print the service file and its path, and change nothing'),
          force('Also replace a file that Familiar did not write'),
        ],
        examples: ['service install --dry-run', 'service install'],
        createsHome: true,
      }),
      restart: command('Restart the service', service('restartService'), { examples: ['service restart'] }),
      logs: command('Print the log of the service', service('serviceLogs'), {
        options: [
          option('-f, --follow', 'Keep printing new lines'),
          limitOption(100, { text: 'Maximum number of lines', old: '--lines <count>' }),
        ],
        examples: ['service logs --follow', 'service logs -n 20'],
      }),
      uninstall: command('Stop the service and remove its file; data is kept', service('uninstallService'), {
        aliases: ['remove', 'rm'],
        options: [force('Also remove a file that Familiar did not write')],
        examples: ['service uninstall'],
        createsHome: true,
      }),
    },
  },
  status: command('Show the daemon, the model and the cost of today', daemon('status'), {
    examples: ['status', 'status --json'],
  }),
  monitor: command('Show what Familiar is doing right now', daemon('monitor'), {
    options: [option('-w, --watch', 'Keep showing it until Ctrl-C')],
    examples: ['monitor --watch'],
  }),
  cost: command('Show what the models cost', sessions('cost'), {
    aliases: ['costs'],
    options: [
      option('--period <period>', 'Time span', { choices: ['today', 'week', 'month', 'all'], default: 'today' }),
    ],
    examples: ['cost --period month'],
  }),
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
      list: command('List users and their plans', users('listUsers'), { examples: ['users'] }),
      add: command('Add a user and print their token once', users('addUser'), {
        args: { '<name>': 'Letters, digits, "-" and "_"' },
        options: [option('--plan <plan>', `${plan} (default: guest)`, { old: '--tier <plan>' }), scopeOption('chat')],
        examples: ['users add ada', 'users add ben --plan guest'],
        createsHome: true,
      }),
      plan: command('Change the plan of a user', users('setPlan'), {
        old: ['tier'],
        args: { ...user, '<plan>': plan },
        examples: ['users plan ada guest'],
      }),
      rotate: command('Replace all tokens of a user with a new one', users('rotateUser'), {
        args: user,
        examples: ['users rotate ada'],
      }),
      remove: command('Export the data of a user, then delete the user', users('removeUser'), {
        args: user,
        options: [option('-o, --out <directory>', 'Export folder (default: familiar-export-NAME)'), yes],
        examples: ['users remove ada', 'users remove ada --out exports/ada --yes'],
      }),
    },
  },
  tokens: {
    summary: 'Manage tokens for the HTTP API and MCP',
    aliases: ['token'],
    commands: {
      list: command('List tokens (the tokens themselves are never shown)', tokens('listTokens'), {
        options: [option('--user <name>', 'Only tokens of this user')],
        examples: ['tokens', 'tokens list --user ada'],
      }),
      create: command('Create a token and print it once', tokens('createToken'), {
        aliases: ['add'],
        options: [scopeOption('chat'), option('--user <name>', 'Owner of the token (default: you)')],
        examples: ['tokens create --scope read'],
        createsHome: true,
      }),
      rotate: command('Replace your token; the old one stops working at once', tokens('rotateToken'), {
        options: [yes],
        examples: ['tokens rotate'],
        createsHome: true,
      }),
      remove: command('Revoke a token at once', tokens('revokeToken'), {
        old: ['revoke'],
        args: { '<id>': 'Token id, as "familiar tokens" prints it' },
        examples: ['tokens remove 0199a1b2'],
      }),
    },
  },
  telegram: {
    summary: 'Manage Telegram contacts',
    commands: {
      list: command('List Telegram contacts and the user each one is', telegram('listContacts'), {
        aliases: ['contacts'],
        examples: ['telegram', 'telegram list --json'],
      }),
      status: command('Show whether Telegram is connected', telegram('showStatus'), { examples: ['telegram status'] }),
      pair: command('Create a pairing code (single use, valid for 10 minutes)', telegram('pair'), {
        options: [option('--user <name>', 'User for the contact (default: the owner)')],
        examples: ['telegram pair', 'telegram pair --user ada'],
        notes: 'Send the code to the bot as: /pair CODE',
      }),
      remove: command('Block a Telegram contact', telegram('unpair'), {
        old: ['unpair'],
        args: { '<id>': 'Numeric Telegram user id' },
        examples: ['telegram remove 123456789'],
      }),
    },
  },
  secrets: {
    summary: 'Manage stored secrets (values are never shown)',
    aliases: ['secret'],
    notes: 'A tool gets its secrets with "familiar tools config NAME KEY".',
    commands: {
      list: command('List the names of stored secrets', secrets('listSecrets'), { examples: ['secrets'] }),
      rotate: command('Encrypt all secrets with a new key', secrets('rotateKey'), {
        old: ['rotate-key'],
        options: [option('--discard-lost', 'Delete secrets that cannot be decrypted')],
        examples: ['secrets rotate'],
      }),
    },
  },
}
