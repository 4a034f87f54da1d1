"""How assistants decline a request, in the languages most of them do it in.

Debates are full of sentences that are near to a refusal and are none: "I cannot recommend Kafka", "We cannot help every
team", "I cannot answer that question without numbers". So a sentence declines only where its writer, in the first
person and without a condition, will not help, will not do what is *requested* (answer this question, take part in this
debate), or speaks as a machine that cannot. Any other no is an argument.

Every pattern begins where the sentence does and repeats within bounds, so no text makes a search slow.
"""

from __future__ import annotations

import re
from functools import cache

_LONGEST = 400  # characters of a sentence that are looked at

_CONDITION = re.compile(
    r"\b(?:without|until|unless|before|yet|ohne|bevor|solange|sans|avant|(?<!en )tant que|sin|hasta|antes)\b"
    r"|除非|之前|なしに|なければ"
)


def declines(sentence: str) -> bool:
    """Whether a sentence declines a request."""
    plain = sentence[:_LONGEST].casefold().replace("’", "'").strip(" \t\r\n#*_")
    return any(pattern.match(plain) for pattern in patterns()) and not _CONDITION.search(plain)


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """What declining looks like; compiling it takes a while, which a run has before its first request."""
    languages = (_english(), _german(), _french(), _spanish(), _chinese(), _japanese())
    return tuple(re.compile(pattern) for of_language in languages for pattern in of_language)


def _english() -> tuple[str, ...]:
    lead = (
        r"(?:(?:(?:i'm|i am)(?: \w+)? sorry|sorry|(?:my )?apologies|i apologi[sz]e|unfortunately|regrettably|thank|"
        r"i appreciate|i understand)\b[^.!?]{0,100}?\b)?"
    )
    cannot = (
        r"(?:i (?:really |simply |just )?(?:can't|cannot|can not|won't|will not)(?: be able to)?|"
        r"(?:i'm|i am)(?: \w+)? (?:unable|not able|not willing|not going) to)"
    )
    no_to = rf"(?:{cannot}|i (?:(?:must|have to|need to|will|'ll) )?(?:\w+ly )?(?:decline|refuse) to)"
    nouns = (
        r"(?:requests?|prompts?|tasks?|instructions?|topics?|questions?|debates?|discussions?|conversations?|role-?plays?|"
        r"roles?|scenarios?|exercises?|content|information)\b"
    )
    asked = (
        rf"(?:\w+ ){{0,3}}?(?:(?:this|that|these|those|your|such)(?: \w+){{0,2}}? {nouns}|"
        r"the (?:request|prompt|instructions?|role-?play)\b|content (?:that|which|like|of this)\b|"
        r"(?:this|that|it|so)(?:[.,;!]|$))"
    )
    serve = (
        r"(?:comply|fulfill?|participate|take part|take on|engage|continue|proceed|complete|answer|respond|discuss|"
        r"provide|generate|produce|create|write|process|carry out|play|do)"
    )
    machine = (
        r"(?: just| only)? an? (?:ai|artificial intelligence|(?:large )?language model)"
        r"(?: (?:language )?model| assistant| system)?"
        r"(?:,| and\b| so\b|(?= i\b)| (?:developed|created|trained|made|built) by)"
    )
    lacks = r"(?:can't|cannot|don't|do not|must|won't|will not|lack|not|unable|have no)\b"
    return (
        rf"{lead}{no_to} (?:help|assist)(?: you)?(?: (?:with|here|in|on)\b|[.,;!]|$)",
        rf"{lead}{no_to} {serve} {asked}",
        rf"{lead}i (?:(?:must|have to|need to|will|'ll) )?(?:\w+ly )?(?:decline|refuse) {asked}",
        rf"{lead}(?:i'm not|i am not|i don't feel|i do not feel) comfortable (?:with )?\w+ing {asked}",
        rf"{lead}(?:as|being){machine}[^.!?]{{0,120}}?\bi(?:'m| am)? {lacks}",
        rf"{lead}(?:i'm|i am){machine}[^.!?]{{0,120}}?\b{lacks}",
    )


def _german() -> tuple[str, ...]:
    lead = r"(?:(?:(?:es )?tut mir|leider|entschuldig|verzeih|ich bedaure)[^.!?]{0,60}?\b)?"
    can = r"(?:ich (?:kann|darf|werde|möchte)|(?:kann|darf|werde|möchte) ich)\b"
    asked = (
        r"[^.!?]{0,30}?\b(?:diese[rnms]?|deine[rnms]?|ihre[rnms]?|solche[rn]?) (?:\w+ )?"
        r"(?:anfragen?|bitten?|fragen?|aufgaben?|debatte|diskussion|rolle|thema|anweisung(?:en)?)\b"
    )
    serve = r"(?:beantworten|nachkommen|erfüllen|bearbeiten|teilnehmen|übernehmen|unterstützen|fortsetzen|diskutieren)"
    machine = r"als [^.,!?]{0,30}?\b(?:ki|künstliche intelligenz|(?:ki-)?(?:sprach)?modell|ki-(?:assistent\w*|system))"
    return (
        rf"{lead}{can}[^.!?]{{0,60}}? nicht (?:weiter)?(?:helfen|behilflich|assistieren)\b",
        rf"{lead}{can}{asked}[^.!?]{{0,20}}? nicht {serve}\b",
        rf"{lead}ich bin (?:\w+ )?nicht in der lage,? (?:[^.!?]{{0,40}}?\bzu helfen|{asked} zu {serve})\b",
        rf"{lead}{machine},? (?:kann|darf|habe|bin|besitze) ich\b[^.!?]{{0,100}}?\b(?:nicht|keine?n?)\b",
    )


def _french() -> tuple[str, ...]:
    lead = r"(?:(?:je suis (?:\w+ )?désolée?|désolée?|je m'excuse|toutes mes excuses|malheureusement)[^.!?]{0,40}?\b)?"
    cannot = r"je ne (?:(?:peux|puis|pourrai)(?: \w+)? pas |suis (?:\w+ )?pas (?:en mesure|capable) d(?:e |'))"
    asked = (
        r"[^.!?]{0,20}?\b(?:cette|cet|ce|votre|ta|ton|tel(?:le)?s?) (?:\w+ )?"
        r"(?:demande|requête|question|débat|discussion|rôle|sujet|tâche|conversation|contenu)s?\b"
    )
    serve = (
        r"(?:répondre|participer|accéder|donner suite|satisfaire|traiter|continuer|poursuivre|fournir|produire|générer|"
        r"rédiger|discuter|jouer)"
    )
    machine = r"en tant qu(?:e |')[^.,!?]{0,30}?\b(?:ia|intelligence artificielle|modèle de langage)\b"
    return (
        rf"{lead}{cannot}(?:vous |t'|te |y )?(?:aider|assister)\b",
        rf"{lead}{cannot}(?:vous |y )?{serve}{asked}",
        rf"{lead}{machine}[^.!?]{{0,60}}?\bje n(?:e |')",
    )


def _spanish() -> tuple[str, ...]:
    lead = r"(?:(?:lo siento|lamento|lamentablemente|disculp|perd[oó]n|desafortunadamente|me temo)[^.!?]{0,40}?\b)?"
    cannot = r"(?:yo )?no (?:puedo|podré|me es posible|estoy en condiciones de|soy capaz de) "
    asked = (
        r"[^.!?]{0,20}?\b(?:est[aeo]|es[aeo]|tu|su|dicha) (?:\w+ )?"
        r"(?:solicitud|petición|pregunta|debate|tarea|tema|papel|rol|conversación|contenido)\b"
    )
    serve = (
        r"(?:responder|participar|cumplir|proporcionar|atender|continuar|completar|generar|escribir|discutir|hablar)"
    )
    machine = r"como (?:una? )?(?:ia|inteligencia artificial|modelo de lenguaje|asistente de ia)\b"
    return (
        rf"{lead}{cannot}(?:ayudar|asistir)(?:te|les?|l[ao]s?|os)?(?: (?:con|en)\b|[.,;!]|$)",
        rf"{lead}{cannot}{serve}{asked}",
        rf"{lead}{machine}[^.!?]{{0,60}}?\bno (?:puedo|tengo|debo|poseo|estoy|soy)\b",
    )


def _chinese() -> tuple[str, ...]:
    lead = r"(?:[^，。！？]{0,4}?(?:抱歉|对不起|對不起|不好意思|遗憾|遺憾)[，,、\s]*(?:但是?|不[过過])?)?"
    cannot = r"我(?![们們])[^，。！？]{0,4}?(?:[无無]法|不能|不便|[没沒]有?[办辦]法|[没沒]法)"
    to_you = r"[您你为為向给給就对對提供任何这這方面的该該此类類]{0,10}"
    asked = (
        r"[^，。！？]{0,6}?[这這那该該此您你类類关關][^，。！？]{0,6}?(?:[请請]求|要求|[问問][题題]|任[务務]|[话話][题題]|[辩辯][论論]|"
        r"[讨討][论論]|[内內]容|角色|[对對][话話])"
    )
    serve = (
        r"(?:回答|[满滿]足|完成|[参參][与與]|[处處]理|[继繼][续續]|提供|[讨討][论論]|生成|[执執]行|配合|扮演|撰[写寫])"
    )
    machine = r"(?:作[为為]|身[为為])[^，。！？]{0,8}?(?:ai|人工智[能慧]|[语語]言模型|大模型)"
    return (
        rf"{lead}{cannot}{to_you}(?:[帮幫]助|[帮幫]忙|[帮幫][您你]|[协協]助)",
        rf"{lead}{cannot}{to_you}(?:{serve}{asked}|[这這那][样樣]做)",
        rf"{lead}{machine}[^。！？]{{0,12}}?我(?![们們])[^。！？]{{0,10}}?(?:[无無]法|不能|[没沒]有|不[会會])",
    )


def _japanese() -> tuple[str, ...]:
    sorry = r"(?:大変)?(?:申し訳|すみません|すいません|ごめんなさい|恐れ入り|恐縮|残念ながら)"
    cannot = r"[^。！？]{0,8}?(?:でき(?:ません|ない|かね)|(?:いた|致)?しかね)"
    serve = r"(?:お答え|お応え|回答|対応|参加|応じる|応える|提供|お受け|協力)"
    machine = (
        r"(?:私は)?(?:ai|人工知能|(?:大規模)?言語モデル)(?:アシスタント|モデル)?"
        r"(?:として(?:は|の私)?|なので|であるため|ですので)、?"
    )
    return (
        rf"[^。！？]{{0,60}}?お手伝い{cannot}",
        rf"{sorry}[^。！？]{{0,60}}?{serve}{cannot}",
        rf"(?:この|その|そのような|こちらの)?(?:リクエスト|ご要望|ご依頼|ご質問)[^。！？]{{0,8}}?{serve}{cannot}",
        rf"(?:{sorry}[^。！？]{{0,12}}?)?{machine}[^。！？]{{0,60}}?(?:できません|できかね|ありません|持って(?:い|お)?り?ません)",
    )
