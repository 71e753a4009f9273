import {
  append,
  type CommandSpec,
  command,
  handlersOf,
  limitOption,
  option,
  scopeOption,
  toCount,
  toVersion,
  under,
  yes,
} from './grammar.ts'

const tools = handlersOf(() => import('../commands/tools.ts'))
const installed = handlersOf(() => import('../commands/install-tool.ts'))
const caps = handlersOf(() => import('../commands/capabilities.ts'))
const builds = handlersOf(() => import('../commands/builds.ts'))
const skills = handlersOf(() => import('../commands/skills.ts'))
const mcp = handlersOf(() => import('../commands/mcp.ts'))
const login = handlersOf(() => import('../commands/login-server.ts'))
const voice = handlersOf(() => import('../commands/voice.ts'))

const tool = { '<name>': 'Tool name' }
const capability = { '<name>': 'Capability name' }
const build = { '<build>': 'Build id, or a capability name for its newest build' }
const skill = { '<name>': 'Skill name' }
const server = { '<name>': 'Server name in familiar.toml' }
const params = option('--params <json>', 'Parameters as JSON; - reads standard input')

const toolGroup: CommandSpec = {
  summary: 'Create, install, configure and run tools',
  aliases: ['tool'],
  commands: {
    list: command('List tools and their state', tools('listTools'), {
      options: [option('--all', 'Include built-in tools')],
      examples: ['tools', 'tools list --all'],
    }),
    show: command('Show details of a tool', tools('showTool'), { args: tool, examples: ['tools show greeter'] }),
    new: command('Create a working tool for you to change', tools('newTool'), {
      args: { '<name>': 'Lowercase letters, digits, "_" and "-"' },
      options: [
        option('--language <language>', 'Programming language', {
          choices: ['python', 'bash', 'node'],
          default: 'python',
        }),
        option('--description <text>', 'Short description'),
      ],
      examples: ['tools new greeter', 'tools new backup-check --language bash'],
      createsHome: true,
    }),
    install: command('Install a tool from a folder, archive or git repository', installed('installTool'), {
      args: { '<source>': 'Path, .tar.gz or .zip file, or https address' },
      options: [
        option('--as <name>', 'Install it under another name'),
        option('-y, --yes', 'Enable it without asking'),
      ],
      examples: ['tools install ./weather-tool --as weather'],
      createsHome: true,
    }),
    remove: command('Delete a custom tool with its settings', installed('removeTool'), {
      args: tool,
      options: [yes],
      examples: ['tools remove greeter'],
    }),
    run: command('Run a tool by hand', tools('runTool'), {
      args: tool,
      options: [
        { ...params, old: '--args <json>' },
        option('--telemetry <json>', 'Simulated client context (time, location)'),
      ],
      examples: [
        `tools run greeter --params '{"name": "Anna"}'`,
        `tools run weather --telemetry '{"city": "Valletta", "lat": 35.9, "lon": 14.5}'`,
        'tools run summary --params - < params.json',
      ],
    }),
    test: command('Run the tests of a tool (tests.json in its folder)', tools('testTool'), {
      args: tool,
      examples: ['tools test greeter'],
    }),
    config: command('Show or set the settings of a tool; asks for secrets', tools('configureTool'), {
      args: { ...tool, '[settings...]': 'KEY=VALUE, or KEY to be asked for the value' },
      options: [option('--unset <key>', 'Remove a setting (repeat for more)', { parse: append })],
      examples: [
        'tools config weather',
        'tools config weather units=metric days=3',
        'tools config weather api_key < key.txt',
        'tools config weather --unset units',
      ],
    }),
    enable: command('Enable a tool (also re-approves one that changed)', tools('enableTool'), {
      args: tool,
      examples: ['tools enable greeter'],
    }),
    disable: command('Disable a tool', tools('disableTool'), { args: tool, examples: ['tools disable greeter'] }),
    allow: command('Show or add network hosts a tool may reach', tools('allowHosts'), {
      args: { ...tool, '[hosts...]': 'Such as api.example.com, *.example.com or localhost:8080' },
      options: [option('--remove', 'Remove these hosts instead')],
      examples: ['tools allow weather api.example.com', 'tools allow weather --remove api.example.com'],
    }),
    logs: command('Show calls of a tool, newest first', tools('showCalls'), {
      args: tool,
      options: [limitOption(50)],
      examples: ['tools logs greeter'],
    }),
    runs: command('Show scheduled and webhook runs, late and missed ones too', tools('listRuns'), {
      args: { '[name]': 'Tool name' },
      options: [limitOption(50)],
      examples: ['tools runs'],
    }),
    hook: command('Create a new webhook secret', tools('makeHook'), { args: tool, examples: ['tools hook doorbell'] }),
  },
}

const capabilityGroup: CommandSpec = {
  summary: 'Manage tools that Familiar built for you',
  aliases: ['capabilities', 'cap', 'capability'],
  commands: {
    ...under('Use:', {
      list: command('List capabilities and their state', caps('listCapabilities'), {
        options: [
          option('--state <state>', 'Filter by state', { choices: ['building', 'active', 'failed', 'disabled'] }),
          option('--query <words>', 'Search, best match first'),
        ],
        examples: ['caps', 'caps list --state active'],
      }),
      show: command('Show details of a capability', caps('showCapability'), {
        args: capability,
        examples: ['caps show count_words'],
      }),
      run: command('Run a capability by hand', caps('runCapability'), {
        args: capability,
        options: [
          { ...params, old: '--args <json>' },
          option('--version <number>', 'Version to run (default: the active one)', { parse: toCount }),
        ],
        examples: [
          `caps run count_words --params '{"text": "to be or not to be"}' --json`,
          'caps run count_words --version 2 --params - < params.json',
        ],
      }),
      logs: command('Show calls of a capability, newest first', caps('showCapabilityCalls'), {
        args: capability,
        options: [limitOption(50)],
        examples: ['caps logs count_words'],
      }),
      enable: command('Enable a capability, after showing its permissions', caps('enableCapability'), {
        args: capability,
        options: [yes],
        examples: ['caps enable count_words'],
      }),
      disable: command('Disable a capability; nothing is deleted', caps('disableCapability'), {
        args: capability,
        examples: ['caps disable count_words'],
      }),
      config: command('Set a secret of a capability; asks for the value', caps('giveSecret'), {
        old: ['secret'],
        args: { ...capability, '<key>': 'Name of the secret' },
        examples: ['caps config weather_lookup API_KEY', 'caps config weather_lookup API_KEY < key.txt'],
      }),
    }),
    ...under('Build:', {
      builds: command('List builds and what they wait for', builds('listBuilds'), {
        args: { '[name]': 'Capability name' },
        options: [limitOption(50)],
        examples: ['caps builds', 'caps builds count_words'],
      }),
      watch: command('Follow a build and answer its questions', builds('watchBuild'), {
        args: build,
        examples: ['caps watch count_words'],
      }),
      answer: command('Answer a question of a build', builds('answerQuestion'), {
        args: { '<question>': 'Question id', '<text...>': 'Your answer' },
        examples: ['caps answer 0199a1b2 Count only unique words'],
      }),
      stop: command('Stop a build', builds('stopBuild'), { args: build, examples: ['caps stop count_words'] }),
      repair: command('Rebuild a failing capability (the old version stays active)', builds('repairCapability'), {
        args: capability,
        options: [option('--problem <text>', 'The problem, in addition to the last failure')],
        examples: ['caps repair count_words --problem "It counts twice"'],
      }),
    }),
    ...under('Versions:', {
      rollback: command('Activate an older version', caps('rollBack'), {
        args: { ...capability, '[version]': { text: 'Version number (default: the previous one)', parse: toCount } },
        examples: ['caps rollback count_words', 'caps rollback count_words 2'],
      }),
      diff: command('Show what changed between two versions', caps('showDifference'), {
        args: {
          ...capability,
          '[from]': { text: 'Version number (default: the previous one)', parse: toVersion },
          '[to]': { text: 'Version number (default: the active one)', parse: toVersion },
        },
        examples: ['caps diff count_words 1 2'],
      }),
      review: command('List unused and superseded capabilities', caps('reviewCapabilities'), {
        examples: ['caps review'],
      }),
    }),
    ...under('Write and share:', {
      new: command('Create a working capability for you to change', caps('newCapability'), {
        args: { '<name>': 'Lowercase letters, digits and "_"' },
        options: [
          option('--language <language>', 'Programming language', {
            choices: ['python', 'node'],
            default: 'python',
            old: '--runtime <language>',
          }),
        ],
        examples: ['caps new count_words', 'caps new slugs --language node'],
        createsHome: true,
      }),
      register: command('Check a folder, run its examples and activate it', caps('registerCapability'), {
        args: { '<path>': 'Folder of the capability' },
        examples: ['caps register count_words'],
        createsHome: true,
      }),
      export: command('Export a capability as a folder (also an Agent Skill)', caps('exportCapability'), {
        args: { ...capability, '<directory>': 'Target folder' },
        examples: ['caps export count_words shared/count_words'],
      }),
      import: command('Import a folder; it stays off until you enable it', caps('importCapability'), {
        args: { '<directory>': 'Folder of the capability' },
        examples: ['caps import shared/count_words'],
        createsHome: true,
      }),
    }),
  },
}

const skillGroup: CommandSpec = {
  summary: 'Manage skills: instructions for certain tasks',
  aliases: ['skill'],
  notes:
    'A skill is a folder with a SKILL.md, as published for other agents. Install it, or put it into workspace/skills in the home.',
  commands: {
    list: command('List skills and their state', skills('listSkills'), { examples: ['skills'] }),
    show: command('Show the instructions and files of a skill', skills('showSkill'), {
      args: skill,
      examples: ['skills show invoices'],
    }),
    new: command('Create a skill for you to change', skills('newSkill'), {
      args: { '<name>': 'Lowercase letters, digits, "_" and "-"' },
      options: [option('--description <text>', 'Short description: purpose and when to use it')],
      examples: ['skills new invoices --description "Use it when I ask for an invoice."'],
      createsHome: true,
    }),
    install: command(
      'Install skills from a folder, archive or git repository',
      handlersOf(() => import('../commands/install-skill.ts'))('installSkill'),
      {
        args: {
          '<source>': 'Path, .tar.gz or .zip file, or https address',
          '[names...]': 'Only these skills of a collection',
        },
        options: [option('-y, --yes', 'Enable them without asking')],
        examples: ['skills install ./skills pdf docx'],
        createsHome: true,
      },
    ),
    enable: command('Enable a skill (also approves one from elsewhere)', skills('enableSkill'), {
      args: skill,
      options: [yes],
      examples: ['skills enable invoices'],
    }),
    remove: command('Delete a skill of the workspace', skills('removeSkill'), {
      args: skill,
      options: [yes],
      examples: ['skills remove invoices'],
    }),
    disable: command('Disable a skill', skills('disableSkill'), { args: skill, examples: ['skills disable invoices'] }),
  },
}

const serveOptions = [scopeOption('owner')]
const serveMcp = handlersOf(() => import('../commands/serve-mcp.ts'))

const mcpGroup: CommandSpec = {
  summary: 'Serve Familiar over MCP (stdio), or manage MCP servers',
  notes: `To use Familiar from Claude Code: claude mcp add familiar -- familiar mcp serve
Without a command, "familiar mcp" lists the servers in a terminal, and serves if standard input is a pipe.`,
  commands: {
    auto: command('List in a terminal, serve in a pipe', serveMcp('listOrServe'), {
      hidden: true,
      options: serveOptions,
      createsHome: true,
    }),
    list: command('List the configured MCP servers', mcp('listServers'), { examples: ['mcp list'] }),
    serve: command('Serve MCP clients on standard input and output', serveMcp('serveMcp'), {
      options: serveOptions,
      examples: ['mcp serve', 'mcp serve --scope read'],
      createsHome: true,
    }),
    show: command('Start a server and show its tools', mcp('showServer'), {
      args: server,
      examples: ['mcp show github'],
    }),
    approve: command('Show a server and allow its tools', mcp('approveServer'), {
      aliases: ['enable'],
      args: server,
      options: [yes],
      examples: ['mcp approve github'],
    }),
    disable: command('Disable a server', mcp('disableServer'), { args: server, examples: ['mcp disable github'] }),
    login: command('Sign in to a server that requires it', login('loginServer'), {
      args: server,
      options: [option('--device', 'Print a code to type on another device')],
      examples: ['mcp login github', 'mcp login github --device'],
    }),
    logout: command('Sign out of a server', login('logoutServer'), {
      args: server,
      examples: ['mcp logout github'],
    }),
  },
}

const voiceGroup: CommandSpec = {
  summary: 'Local speech: install, speak, transcribe',
  notes: `"voice install" also lets Familiar speak with the local voice, if the voice of the system was in use; "voice remove"
goes back to it. Larger transcription models make fewer mistakes, above all in other languages than English, and are slower.`,
  commands: {
    status: command('Show speech engines and installed models', voice('showVoice'), {
      aliases: ['list', 'ls'],
      examples: ['voice'],
      createsHome: true,
    }),
    install: command(
      'Download the speech models (both, or the named ones)',
      handlersOf(() => import('../commands/install-voice.ts'))('installVoice'),
      {
        options: [
          option('--speech', 'Text to speech: Kokoro-82M, 89 MB'),
          option('--transcription', 'Speech to text: whisper-tiny, 29 MB'),
          option('--model <name>', 'Speech to text with this model: whisper-base is 52 MB, whisper-small 166 MB', {
            choices: ['whisper-tiny', 'whisper-base', 'whisper-small'],
          }),
        ],
        examples: ['voice install', 'voice install --transcription', 'voice install --model whisper-base'],
        createsHome: true,
      },
    ),
    say: command('Speak a text, aloud or into an audio file', voice('sayText'), {
      args: { '<text>': 'The text; - reads standard input' },
      options: [
        option('-o, --out <file>', 'Write the audio to this file instead of playing it'),
        option('--voice <name>', 'Another voice than the configured one'),
        option('--local', 'Use the local model, whatever the configuration says'),
        option('-y, --yes', 'Overwrite the file without asking'),
      ],
      examples: ['voice say "Good morning"', 'voice say "Good morning" --local --voice bf_emma -o morning.wav'],
      createsHome: true,
    }),
    transcribe: command('Transcribe an audio file', voice('transcribeFile'), {
      args: { '<file>': 'WAV or OGG file' },
      examples: ['voice transcribe note.ogg'],
      createsHome: true,
    }),
    remove: command('Delete the downloaded speech models', voice('removeVoice'), {
      options: [yes],
      examples: ['voice remove'],
      createsHome: true,
    }),
  },
}

/** Everything that the model can call, and speech. */
export const toolCommands: Record<string, CommandSpec> = {
  tools: toolGroup,
  caps: capabilityGroup,
  skills: skillGroup,
  mcp: mcpGroup,
  voice: voiceGroup,
}
