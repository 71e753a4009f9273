/** The reactions that Telegram gives to bots in private chats; it refuses every other. */
const known = new Set(
  '👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
)

/** The reaction as Telegram spells it; undefined where it has none such. */
export function reactionEmoji(emoji: string): string | undefined {
  const plain = emoji.replaceAll('\ufe0f', '').replace(/[\u{1f3fb}-\u{1f3ff}]/u, '')
  return known.has(plain) ? plain : undefined
}
