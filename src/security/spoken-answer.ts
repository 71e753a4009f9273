type Answer = 'approve' | 'deny'

/**
 * The phrases of one language, in lower case, separated by `|`. Accents and apostrophes do not matter. The order of an
 * answer is fixed: `please`, then yes or no, then the action.
 */
interface Vocabulary {
  yes: string
  /** Approves alone or after a yes: "go ahead". */
  go: string
  /** Approves only after a yes, because alone it could be another request: "build it". */
  doing?: string
  no: string
  /** Denies alone or after a no: "don't", "not now". */
  refuse: string
  /** Denies alone, and after a no only with a comma in between: "no cancel" is not "no, cancel". */
  halt?: string
  /** Courtesy without effect. */
  please?: string
  /** Courtesy beside a denial. Beside a mere "ok" it may be the whole meaning, so it does not approve. */
  thanks?: string
  /** Written without spaces between words. */
  isUnspaced?: true
  /** Particles that may follow each phrase. */
  particles?: string
}

const verbs =
  'build|make|create|run|use|call|send|post|start|try|install|fetch|open|read|write|save|add|delete|remove|forget|change|update|publish|download'
const withPronoun = (names: string) =>
  names
    .split('|')
    .flatMap((verb) => ['it', 'that', 'this', 'them'].map((what) => `${verb} ${what}`))
    .join('|')

const vocabularies: readonly Vocabulary[] = [
  {
    yes: 'yes|yeah|yep|yup|yea|ok|okay|sure|sure thing|of course|certainly|absolutely|definitely|fine|alright|all right|yes i do|yes thanks|yes thank you|fine by me|fine with me|thats fine|thats ok|thats okay|sounds good|why not',
    go: 'go|go ahead|go on|go for it|do it|do that|do so|please do|you may|you can|proceed|continue|carry on|make it so|approve|approved|i approve|approve it|approve that|allow|allowed|allow it|allow that|i allow it|permit it|i agree|agreed|confirm|confirmed|i confirm|go ahead and do it|and go ahead|and do it|lets do it|lets go|do go ahead|👍|👌|✅',
    doing: `${withPronoun(verbs)}|go ahead and build it|this once|just this once|once|just once|only once|only this once|this time|for now`,
    no: 'no|nope|nah|nay',
    refuse:
      'dont|do not|dont do it|dont do that|dont do this|do not do it|do not do that|please dont|not now|not yet|not today|not this time|rather not|better not|id rather not|i would rather not|no way|never|never ever|absolutely not|definitely not|certainly not|of course not|hell no|i dont want that|i dont want it|i do not want that|i dont want to|you may not|not allowed|i deny|deny|denied|deny it|deny that|reject|rejected|reject it|refuse|refused|i refuse|disapprove|i disagree|dont allow it|do not allow it|dont build it|dont send it|dont run it|👎|❌',
    halt: 'stop|stop it|stop that|cancel|cancel it|cancel that|leave it|leave it be|forget it|drop it|skip it|skip that|abort|never mind|nevermind|hold off',
    please: 'please|pls|plz',
    thanks: 'thanks|thank you|thank you very much|thx|sorry',
  },
  {
    yes: 'ja|jawohl|jap|jep|jo|klar|na klar|ja klar|aber klar|sicher|natürlich|selbstverständlich|gern|gerne|sehr gern|sehr gerne|in ordnung|geht klar|passt|einverstanden|ja danke|ok|okay|von mir aus|auf jeden fall|unbedingt',
    go: 'mach|mach das|mach es|machs|mach mal|mach ruhig|machen sie das|machen sie es|tu es|tu das|tun sie es|tun sie das|leg los|los|los gehts|nur zu|mach weiter|weiter|fahr fort|fahre fort|fahren sie fort|erlauben|erlaubt|erlaube es|erlaube ich|ich erlaube es|genehmigt|ich genehmige es|freigeben|zulassen|ich stimme zu|bestätigt|darfst du|du darfst|das darfst du|👍|👌|✅',
    doing:
      'bau es|bau das|baue es|baue das|bauen sie es|bauen sie das|schick es|schick es ab|schicke es|sende es|senden|starte es|starte das|führ es aus|führe es aus|nutze es|lösch es|lösche es|speicher es|speichere es|probier es|dieses mal|diesmal|einmal|nur dieses mal|nur einmal',
    no: 'nein|nee|nö|ne',
    refuse:
      'nicht|lieber nicht|besser nicht|bitte nicht|nicht jetzt|jetzt nicht|noch nicht|heute nicht|nicht heute|mach das nicht|mach es nicht|machs nicht|tu das nicht|tu es nicht|machen sie das nicht|tun sie das nicht|auf keinen fall|auf gar keinen fall|keinesfalls|niemals|nie|natürlich nicht|sicher nicht|ablehnen|abgelehnt|nicht erlauben|nicht erlaubt|verboten|ich lehne ab|das will ich nicht|ich will das nicht|👎|❌',
    halt: 'stop|stopp|halt|abbrechen|brich ab|brich das ab|lass es|lass das|lass mal|lassen sie es|vergiss es|hör auf',
    please: 'bitte|bitte sehr',
    thanks: 'danke|danke schön|vielen dank|danke nein',
  },
  {
    yes: "oui|ouais|oui oui|mais oui|bien sûr|oui bien sûr|d'accord|ok|okay|certainement|volontiers|absolument|tout à fait|évidemment|entendu|parfait|oui merci|pourquoi pas|ça marche|c'est bon",
    go: "vas y|allez y|fais le|faites le|fais ça|faites ça|fonce|continue|continuez|procède|procédez|je suis d'accord|j'approuve|j'autorise|je l'autorise|j'accepte|approuvé|autorisé|autorise le|accepté|je confirme|tu peux|vous pouvez|c'est d'accord|👍|👌|✅",
    doing:
      'construis le|construisez le|crée le|créez le|envoie le|envoyez le|lance le|lancez le|exécute le|utilise le|utilisez le|essaie|supprime le|supprimez le|enregistre le|cette fois|juste cette fois|une fois',
    no: 'non|nan|non non|mais non',
    refuse:
      "pas maintenant|pas encore|pas aujourd'hui|pas cette fois|ne fais pas ça|ne le fais pas|ne le faites pas|ne faites pas ça|ne fais rien|surtout pas|plutôt pas|il vaut mieux pas|mieux vaut pas|certainement pas|absolument pas|bien sûr que non|jamais|jamais de la vie|je refuse|refusé|refuse|je ne veux pas|je veux pas|je ne suis pas d'accord|pas d'accord|hors de question|pas question|👎|❌",
    halt: 'stop|arrête|arrêtez|arrête ça|annule|annulez|annule ça|laisse tomber|laissez tomber|laisse|oublie|oublie ça',
    please: "s'il te plaît|s'il vous plaît|stp|svp",
    thanks: 'merci|merci beaucoup',
  },
  {
    yes: 'sí|si si|claro|claro que sí|sí claro|por supuesto|desde luego|vale|de acuerdo|ok|okay|okey|bueno|está bien|seguro|perfecto|sí gracias|cómo no|por qué no|venga',
    go: 'adelante|hazlo|hágalo|procede|proceda|continúa|continúe|sigue|dale|apruebo|lo apruebo|aprobado|apruébalo|permítelo|permitido|permitir|acepto|autorizo|lo autorizo|autorizado|confirmo|confirmado|puedes|puedes hacerlo|puede hacerlo|estoy de acuerdo|👍|👌|✅',
    doing:
      'constrúyelo|constrúyala|créalo|créala|envíalo|envíala|ejecútalo|úsalo|pruébalo|bórralo|guárdalo|inícialo|esta vez|solo esta vez|una vez|solo una vez',
    no: 'no|no no|qué va|nop',
    refuse:
      'ahora no|no ahora|todavía no|aún no|hoy no|esta vez no|no lo hagas|no lo haga|no hagas eso|no hagas nada|no quiero|no lo quiero|mejor no|prefiero que no|claro que no|por supuesto que no|nunca|jamás|de ninguna manera|ni hablar|rechazo|rechazado|lo rechazo|denegado|deniego|no permitir|no lo permito|no estoy de acuerdo|👎|❌',
    halt: 'stop|alto|detente|deténgase|cancela|cancelar|cancélalo|déjalo|olvídalo|basta',
    please: 'por favor|porfa|porfavor',
    thanks: 'gracias|muchas gracias',
  },
  {
    yes: '是|是的|好|好的|好啊|好吧|可以|可以的|行|当然|當然|当然可以|當然可以|没问题|沒問題|对|對|对的|對的|嗯|嗯嗯|ok|okay|没错|沒錯|愿意|願意|要|需要',
    go: '同意|我同意|允许|允許|我允许|我允許|批准|我批准|确认|確認|继续|繼續|请继续|請繼續|做吧|去做|去做吧|请做|請做|开始|開始|开始吧|開始吧|来吧|來吧|就这么做|就這麼做|就这样做|就這樣做|执行|執行|进行吧|進行吧|去吧|👍|👌|✅',
    doing:
      '建吧|构建吧|創建吧|创建吧|做一个|发吧|發吧|发送吧|發送吧|运行吧|運行吧|用吧|试试|試試|删吧|刪吧|这一次|這一次|一次|就这一次',
    no: '不行|否|不好|不了',
    refuse:
      '不|不要|不用|不必|不可以|不可|不是|不对|不想|不需要|不允许|不允許|不同意|我不同意|不批准|别|別|别做|別做|不要做|别这样|別這樣|别这么做|不要这样做|不要這樣做|现在不|現在不|现在不要|現在不要|现在不行|現在不行|现在别|暂时不要|暫時不要|暂时不用|暫時不用|先不要|先别|先別|还没有|今天不行|今天不要|绝不|絕不|绝对不行|絕對不行|当然不|當然不|当然不行|拒绝|拒絕|我拒绝|我拒絕|👎|❌',
    halt: '停|停止|停下|取消|算了|放弃|放棄|中止',
    please: '请|請|麻烦|麻煩|麻烦你|麻烦您',
    thanks: '谢谢|謝謝|多谢|多謝|谢谢你|謝謝你',
    isUnspaced: true,
    particles: '吧啊呀哦啦喔了',
  },
  {
    yes: 'はい|ええ|うん|もちろん|もちろんです|いいよ|いいですよ|オーケー|オッケー|オッケーです|ok|okです|了解|了解です|了解しました|イエス|かまいません|構いません|大丈夫ですよ|賛成|賛成です',
    go: 'お願い|お願いします|お願いいたします|おねがい|おねがいします|やって|やってください|やって下さい|やってくれ|どうぞ|進めて|進めてください|進めて下さい|続けて|続けてください|続けて下さい|続行|続行して|続行してください|実行|実行して|実行してください|そうして|そうしてください|承認|承認します|承認する|許可|許可します|許可する|同意します|やりましょう|👍|👌|✅',
    doing:
      '作って|作ってください|作成して|作成してください|送って|送ってください|送信して|送信してください|使って|使ってください|始めて|始めてください|削除して|削除してください|試して|試してください|一度だけ|今回だけ',
    no: 'いいえ|いえ|いや|いやです|ううん|だめ|ダメ|駄目|だめです|ダメです|駄目です|ノー',
    refuse:
      'しないで|しないでください|しないで下さい|やらないで|やらないでください|やらないで下さい|今はしないで|今はしないでください|今はやらないで|今はやめて|今はやめてください|今はだめ|今はだめです|今はいいです|今はいい|まだ|まだです|まだだめ|また今度|絶対だめ|絶対ダメ|絶対に嫌|嫌です|嫌だ|いやだ|拒否|拒否します|却下|却下します|許可しません|許可しない|承認しません|承認しない|同意しません|必要ありません|不要です|👎|❌',
    halt: 'やめて|やめてください|やめて下さい|止めて|止めてください|ストップ|中止|中止して|中止してください|キャンセル|キャンセルして|キャンセルしてください|やめておく|やめておきます',
    please: 'すみません|すみませんが',
    thanks: 'ありがとう|ありがとうございます|結構です',
    isUnspaced: true,
    particles: 'ねよ',
  },
  {
    yes: 'نعم|نعم نعم|أجل|ايوه|ايوة|أيوا|اه|طيب|حسنا|بالتأكيد|بالطبع|طبعا|أكيد|تمام|اوكي|اوك|ok|ماشي|لا بأس|لا مانع|لا مانع لدي|نعم شكرا|بكل سرور',
    go: 'موافق|موافقة|أنا موافق|أوافق|أنا أوافق|تفضل|تفضلي|افعل|افعل ذلك|افعلها|افعل هذا|قم بذلك|نفذ|نفذ ذلك|استمر|تابع|واصل|هيا|ابدأ|اسمح|اسمح بذلك|أسمح|أسمح بذلك|مسموح|يمكنك ذلك|أؤكد|👍|👌|✅',
    doing:
      'ابنه|ابنها|أنشئه|أنشئها|أرسله|أرسلها|شغله|شغلها|استخدمه|استخدمها|احذفه|احذفها|احفظه|جربه|هذه المرة|هذه المرة فقط|مرة واحدة',
    no: 'لا|كلا|لا لا|لأ',
    refuse:
      'ليس الآن|مش الآن|مش دلوقتي|ليس بعد|ليس اليوم|لا تفعل|لا تفعل ذلك|لا تفعلها|لا تفعل هذا|لا تقم بذلك|لا أريد|لا أريد ذلك|لا أوافق|غير موافق|لست موافقا|أرفض|ارفض|مرفوض|رفض|أبدا|مستحيل|بالطبع لا|بالتأكيد لا|طبعا لا|لا تسمح|لا تسمح بذلك|لا أسمح|لا أسمح بذلك|ممنوع|👎|❌',
    halt: 'توقف|قف|إلغاء|ألغ|ألغها|ألغ ذلك|دعه|دعك من ذلك|انس الأمر',
    please: 'من فضلك|لو سمحت|رجاء|أرجوك',
    thanks: 'شكرا|شكرا لك|شكرا جزيلا',
  },
  {
    yes: 'sim|claro|claro que sim|ok|com certeza',
    go: 'faça|faça isso|pode|pode fazer|vá em frente|aprovo|👍',
    no: 'não',
    refuse: 'agora não|ainda não|não faça isso|nunca|👎',
    please: 'por favor',
    thanks: 'obrigado|obrigada',
  },
  {
    yes: 'sì|certo|certo che sì|va bene|ok|certamente|sì grazie',
    go: 'fallo|procedi|vai|vai pure|continua|approvo|approvato|👍',
    no: 'no',
    refuse: 'non ora|non adesso|non ancora|non farlo|mai|👎',
    please: 'per favore',
    thanks: 'grazie',
  },
  {
    yes: 'tak|jasne|oczywiście|ok',
    go: 'zrób to|śmiało|zgoda|zgadzam się|👍',
    no: 'nie',
    refuse: 'nie teraz|jeszcze nie|nie rób tego|nigdy|👎',
    please: 'proszę',
    thanks: 'dzięki|dziękuję',
  },
  {
    yes: 'да|да да|конечно|хорошо|ладно|ок|окей|разумеется|ага',
    go: 'давай|давайте|сделай|сделай это|сделайте|продолжай|разрешаю|одобряю|согласен|согласна|👍',
    no: 'нет|не',
    refuse: 'не сейчас|не надо|не нужно|пока нет|не делай|не делай этого|никогда|запрещаю|не разрешаю|👎',
    please: 'пожалуйста',
    thanks: 'спасибо',
  },
]

const maxCharacters = 60
const matchers = vocabularies.map(matcherOf)

/**
 * Reads a message as the answer to a yes-or-no question. The whole message must consist of matching phrases of one
 * language. "yes, but first …", "no idea what that is" and "ok what does it do?" contain other words, so they are
 * ordinary messages.
 */
export function readSpokenAnswer(text: string): Answer | undefined {
  const said = text.trim()
  // A question, a second line or an invisible character is never part of a plain answer.
  if (said === '' || said.length > maxCharacters || /[?？؟¿\p{C}\p{Zl}\p{Zp}]/u.test(said)) return undefined
  const words = simplify(said)
  if (words === 'y') return 'approve'
  if (words === 'n') return 'deny'
  const answers = new Set(matchers.map((read) => read(words)).filter((answer) => answer !== undefined))
  return answers.size === 1 ? [...answers][0] : undefined
}

/** Lower case, without accents and apostrophes; clause separators become commas. */
function simplify(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]|[\u064b-\u0655]|\u0640|\ufe0f|\p{Emoji_Modifier}|['’‘`´]/gu, '')
    .replaceAll(/[.!…。！]+$|^¡/g, '')
    .replaceAll(/ *[,.;!:–—。！，、；،؛…~～]+ */g, ', ')
    .replaceAll(/[-‐‑]/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

function matcherOf(vocabulary: Vocabulary): (words: string) => Answer | undefined {
  const { isUnspaced = false, particles } = vocabulary
  const gap = isUnspaced ? ',? ?' : ',? '
  const end = `${particles ? `[${particles}]?` : ''}${gap}`
  const one = (...lists: (string | undefined)[]) => {
    const phrases = lists.flatMap((list) => list?.split('|') ?? []).map((phrase) => simplify(phrase))
    return `(?:${phrases.join('|')})`
  }
  const courtesy = (...lists: (string | undefined)[]) => {
    return lists.some((list) => list !== undefined) ? `(?:${one(...lists)}${end})?` : ''
  }
  const { yes, go, doing, no, refuse, halt, please, thanks } = vocabulary
  const asked = courtesy(please)
  const step = (...lists: (string | undefined)[]) => `(?:${one(...lists)}${end}${asked})`
  const approves = `^${asked}(?:${step(yes)}{1,2}${step(go, doing)}{0,2}|${step(go)}{1,2})$`
  const beside = courtesy(please, thanks)
  const denial = (list: string) => `(?:${one(list)}${end}${beside})`
  const noes = `${denial(no)}{1,2}`
  const apart = `(?:${one(no)}${particles ? `[${particles}]?` : ''}, ?)`
  const halts = halt === undefined ? '' : `|${apart}?${denial(halt)}`
  const denies = `^${beside}(?:${noes}${denial(refuse)}?|${denial(refuse)}${halts})$`
  const approving = new RegExp(approves, 'u')
  const denying = new RegExp(denies, 'u')
  return (words) => {
    // Every phrase ends with a gap, so the text must too.
    const whole = isUnspaced ? words : `${words} `
    if (approving.test(whole)) return 'approve'
    return denying.test(whole) ? 'deny' : undefined
  }
}
