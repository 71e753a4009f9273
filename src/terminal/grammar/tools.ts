import {
  append,
  type CommandSpec,
  handlersOf,
  limitOption,
  option,
  scopeOption,
  toCount,
  toVersion,
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
    list: {
      summary: 'List tools and their state',
      aliases: ['ls'],
      run: tools('listTools'),
      options: [option('--all', 'Include built-in tools')],
      examples: ['tools', 'tools list --all'],
    },
    show: { summary: 'Show details of a tool', run: tools('showTool'), args: tool, examples: ['tools show greeter'] },
    new: {
      summary: 'Create a working tool for you to change',
      run: tools('newTool'),
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
    },
    install: {
      summary: 'Install a tool from a folder, archive or git repository',
      run: installed('installTool'),
      args: { '<source>': 'Path, .tar.gz or .zip file, or https address' },
      options: [
        option('--as <name>', 'Install it under another name'),
        option('-y, --yes', 'Enable it without asking'),
      ],
      examples: ['tools install ./weather-tool --as weather'],
      createsHome: true,
    },
    remove: {
      summary: 'Delete a custom tool with its settings',
      aliases: ['rm'],
      run: installed('removeTool'),
      args: tool,
      options: [yes],
      examples: ['tools remove greeter'],
    },
    run: {
      summary: 'Run a tool by hand',
      run: tools('runTool'),
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
    },
    test: {
      summary: 'Run the tests of a tool (tests.json in its folder)',
      run: tools('testTool'),
      args: tool,
      examples: ['tools test greeter'],
    },
    config: {
      summary: 'Show or set the settings of a tool; asks for secrets',
      run: tools('configureTool'),
      args: { ...tool, '[settings...]': 'KEY=VALUE, or KEY to be asked for the value' },
      options: [option('--unset <key>', 'Remove a setting (repeat for more)', { parse: append })],
      examples: [
        'tools config weather',
        'tools config weather units=metric days=3',
        'tools config weather api_key < key.txt',
        'tools config weather --unset units',
      ],
    },
    enable: {
      summary: 'Enable a tool (also re-approves one that changed)',
      run: tools('enableTool'),
      args: tool,
      examples: ['tools enable greeter'],
    },
    disable: { summary: 'Disable a tool', run: tools('disableTool'), args: tool, examples: ['tools disable greeter'] },
    allow: {
      summary: 'Show or add network hosts a tool may reach',
      run: tools('allowHosts'),
      args: { ...tool, '[hosts...]': 'Such as api.example.com, *.example.com or localhost:8080' },
      options: [option('--remove', 'Remove these hosts instead')],
      examples: ['tools allow weather api.example.com', 'tools allow weather --remove api.example.com'],
    },
    logs: {
      summary: 'Show calls of a tool, newest first',
      aliases: ['log'],
      run: tools('showCalls'),
      args: tool,
      options: [limitOption(50)],
      examples: ['tools logs greeter'],
    },
    runs: {
      summary: 'Show scheduled and webhook runs, late and missed ones too',
      run: tools('listRuns'),
      args: { '[name]': 'Tool name' },
      options: [limitOption(50)],
      examples: ['tools runs'],
    },
    hook: {
      summary: 'Create a new webhook secret',
      run: tools('makeHook'),
      args: tool,
      examples: ['tools hook doorbell'],
    },
  },
}

const capabilityGroup: CommandSpec = {
  summary: 'Manage tools that Familiar built for you',
  aliases: ['capabilities', 'cap', 'capability'],
  commands: {
    list: {
      summary: 'List capabilities and their state',
      aliases: ['ls'],
      heading: 'Use:',
      run: caps('listCapabilities'),
      options: [
        option('--state <state>', 'Filter by state', { choices: ['building', 'active', 'failed', 'disabled'] }),
        option('--query <words>', 'Search, best match first'),
      ],
      examples: ['caps', 'caps list --state active'],
    },
    show: {
      summary: 'Show details of a capability',
      heading: 'Use:',
      run: caps('showCapability'),
      args: capability,
      examples: ['caps show count_words'],
    },
    run: {
      summary: 'Run a capability by hand',
      heading: 'Use:',
      run: caps('runCapability'),
      args: capability,
      options: [
        { ...params, old: '--args <json>' },
        option('--version <number>', 'Version to run (default: the active one)', { parse: toCount }),
      ],
      examples: [
        `caps run count_words --params '{"text": "to be or not to be"}' --json`,
        'caps run count_words --version 2 --params - < params.json',
      ],
    },
    logs: {
      summary: 'Show calls of a capability, newest first',
      aliases: ['log'],
      heading: 'Use:',
      run: caps('showCapabilityCalls'),
      args: capability,
      options: [limitOption(50)],
      examples: ['caps logs count_words'],
    },
    enable: {
      summary: 'Enable a capability, after showing its permissions',
      heading: 'Use:',
      run: caps('enableCapability'),
      args: capability,
      options: [yes],
      examples: ['caps enable count_words'],
    },
    disable: {
      summary: 'Disable a capability; nothing is deleted',
      heading: 'Use:',
      run: caps('disableCapability'),
      args: capability,
      examples: ['caps disable count_words'],
    },
    config: {
      summary: 'Set a secret of a capability; asks for the value',
      old: ['secret'],
      heading: 'Use:',
      run: caps('giveSecret'),
      args: { ...capability, '<key>': 'Name of the secret' },
      examples: ['caps config weather_lookup API_KEY', 'caps config weather_lookup API_KEY < key.txt'],
    },
    builds: {
      summary: 'List builds and what they wait for',
      heading: 'Build:',
      run: builds('listBuilds'),
      args: { '[name]': 'Capability name' },
      options: [limitOption(50)],
      examples: ['caps builds', 'caps builds count_words'],
    },
    watch: {
      summary: 'Follow a build and answer its questions',
      heading: 'Build:',
      run: builds('watchBuild'),
      args: build,
      examples: ['caps watch count_words'],
    },
    answer: {
      summary: 'Answer a question of a build',
      heading: 'Build:',
      run: builds('answerQuestion'),
      args: { '<question>': 'Question id', '<text...>': 'Your answer' },
      examples: ['caps answer 0199a1b2 Count only unique words'],
    },
    stop: {
      summary: 'Stop a build',
      heading: 'Build:',
      run: builds('stopBuild'),
      args: build,
      examples: ['caps stop count_words'],
    },
    repair: {
      summary: 'Rebuild a failing capability (the old version stays active)',
      heading: 'Build:',
      run: builds('repairCapability'),
      args: capability,
      options: [option('--problem <text>', 'The problem, in addition to the last failure')],
      examples: ['caps repair count_words --problem "It counts twice"'],
    },
    rollback: {
      summary: 'Activate an older version',
      heading: 'Versions:',
      run: caps('rollBack'),
      args: { ...capability, '[version]': { text: 'Version number (default: the previous one)', parse: toCount } },
      examples: ['caps rollback count_words', 'caps rollback count_words 2'],
    },
    diff: {
      summary: 'Show what changed between two versions',
      heading: 'Versions:',
      run: caps('showDifference'),
      args: {
        ...capability,
        '[from]': { text: 'Version number (default: the previous one)', parse: toVersion },
        '[to]': { text: 'Version number (default: the active one)', parse: toVersion },
      },
      examples: ['caps diff count_words 1 2'],
    },
    review: {
      summary: 'List unused and superseded capabilities',
      heading: 'Versions:',
      run: caps('reviewCapabilities'),
      examples: ['caps review'],
    },
    new: {
      summary: 'Create a working capability for you to change',
      heading: 'Write and share:',
      run: caps('newCapability'),
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
    },
    register: {
      summary: 'Check a folder, run its examples and activate it',
      heading: 'Write and share:',
      run: caps('registerCapability'),
      args: { '<path>': 'Folder of the capability' },
      examples: ['caps register count_words'],
      createsHome: true,
    },
    export: {
      summary: 'Export a capability as a folder (also an Agent Skill)',
      heading: 'Write and share:',
      run: caps('exportCapability'),
      args: { ...capability, '<directory>': 'Target folder' },
      examples: ['caps export count_words shared/count_words'],
    },
    import: {
      summary: 'Import a folder; it stays off until you enable it',
      heading: 'Write and share:',
      run: caps('importCapability'),
      args: { '<directory>': 'Folder of the capability' },
      examples: ['caps import shared/count_words'],
      createsHome: true,
    },
  },
}

const skillGroup: CommandSpec = {
  summary: 'Manage skills: instructions for certain tasks',
  aliases: ['skill'],
  notes:
    'A skill is a folder with a SKILL.md, as published for other agents. Put it into workspace/skills in the home.',
  commands: {
    list: { summary: 'List skills and their state', aliases: ['ls'], run: skills('listSkills'), examples: ['skills'] },
    show: {
      summary: 'Show the instructions and files of a skill',
      run: skills('showSkill'),
      args: skill,
      examples: ['skills show invoices'],
    },
    new: {
      summary: 'Create a skill for you to change',
      run: skills('newSkill'),
      args: { '<name>': 'Lowercase letters, digits, "_" and "-"' },
      options: [option('--description <text>', 'Short description: purpose and when to use it')],
      examples: ['skills new invoices --description "Use it when I ask for an invoice."'],
      createsHome: true,
    },
    enable: {
      summary: 'Enable a skill (also approves one from elsewhere)',
      run: skills('enableSkill'),
      args: skill,
      options: [yes],
      examples: ['skills enable invoices'],
    },
    remove: {
      summary: 'Delete a skill of the workspace',
      aliases: ['rm'],
      run: skills('removeSkill'),
      args: skill,
      options: [yes],
      examples: ['skills remove invoices'],
    },
    disable: {
      summary: 'Disable a skill',
      run: skills('disableSkill'),
      args: skill,
      examples: ['skills disable invoices'],
    },
  },
}

const serveOptions = [scopeOption('owner')]
const serveMcp = handlersOf(() => import('../commands/serve-mcp.ts'))

const mcpGroup: CommandSpec = {
  summary: 'Serve Familiar over MCP (stdio), or manage MCP servers',
  notes: `To use Familiar from Claude Code: claude mcp add familiar -- familiar mcp serve
Without a command, "familiar mcp" lists the servers in a terminal, and serves if standard input is a pipe.`,
  commands: {
    auto: {
      summary: 'List in a terminal, serve in a pipe',
      hidden: true,
      run: serveMcp('listOrServe'),
      options: serveOptions,
      createsHome: true,
    },
    list: {
      summary: 'List the configured MCP servers',
      aliases: ['ls'],
      run: mcp('listServers'),
      examples: ['mcp list'],
    },
    serve: {
      summary: 'Serve MCP clients on standard input and output',
      run: serveMcp('serveMcp'),
      options: serveOptions,
      examples: ['mcp serve', 'mcp serve --scope read'],
      createsHome: true,
    },
    show: {
      summary: 'Start a server and show its tools',
      run: mcp('showServer'),
      args: server,
      examples: ['mcp show github'],
    },
    approve: {
      summary: 'Show a server and allow its tools',
      aliases: ['enable'],
      run: mcp('approveServer'),
      args: server,
      options: [yes],
      examples: ['mcp approve github'],
    },
    disable: { summary: 'Disable a server', run: mcp('disableServer'), args: server, examples: ['mcp disable github'] },
    login: {
      summary: 'Sign in to a server that requires it',
      run: login('loginServer'),
      args: server,
      examples: ['mcp login github'],
    },
    logout: {
      summary: 'Delete the stored sign-in of a server',
      run: login('logoutServer'),
      args: server,
      examples: ['mcp logout github'],
    },
  },
}

const voiceGroup: CommandSpec = {
  summary: 'Local speech: install, speak, transcribe',
  notes: `To let Familiar speak with the local voice, set provider = "local" under [tools.tts] in familiar.toml.
Transcription needs no setting.`,
  commands: {
    status: {
      summary: 'Show speech engines and installed models',
      aliases: ['list', 'ls'],
      run: voice('showVoice'),
      examples: ['voice'],
      createsHome: true,
    },
    install: {
      summary: 'Download the speech models (both, or the named ones)',
      run: handlersOf(() => import('../commands/install-voice.ts'))('installVoice'),
      options: [
        option('--speech', 'Text to speech: Kokoro-82M, 89 MB'),
        option('--transcription', 'Speech to text: whisper-tiny, 29 MB'),
      ],
      examples: ['voice install', 'voice install --transcription'],
      createsHome: true,
    },
    say: {
      summary: 'Speak a text into an audio file',
      run: voice('sayText'),
      args: { '<text>': 'The text; - reads standard input' },
      options: [
        option('-o, --out <file>', 'Target file (default: speech.wav or speech.mp3)'),
        option('--voice <name>', 'Another voice than the configured one'),
        option('--local', 'Use the local model, whatever the configuration says'),
      ],
      examples: ['voice say "Good morning" --local --voice bf_emma -o morning.wav'],
      createsHome: true,
    },
    transcribe: {
      summary: 'Transcribe an audio file',
      run: voice('transcribeFile'),
      args: { '<file>': 'WAV or OGG file' },
      examples: ['voice transcribe note.ogg'],
      createsHome: true,
    },
    remove: {
      summary: 'Delete the downloaded speech models',
      aliases: ['rm'],
      run: voice('removeVoice'),
      options: [yes],
      examples: ['voice remove'],
      createsHome: true,
    },
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
